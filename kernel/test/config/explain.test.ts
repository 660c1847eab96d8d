import t from 'tap'
import { plugin, project, web } from './project.ts'

const toml = '[plugins.web]\nport = 8080\ntls.verify = false\nweights = { a = 1 }\n'

t.test('explain returns value, origin and overridden values', async t => {
  const here = project(t, { 'svc.toml': toml, 'install/defaults.toml': '[plugins.web]\nport = 1\n' })
  const config = here.resolve([web], { env: { SVC_WEB_PORT: '9' } })
  t.strictSame(config.explain('plugins.web.port'), {
    key: 'plugins.web.port',
    plugin: 'web',
    value: 9,
    layer: 'environment',
    place: 'SVC_WEB_PORT',
    env: ['SVC_WEB_PORT', 'SVC_OLD_WEB_PORT'],
    reload: 'plugin',
    secret: false,
    description: '',
    overrides: [
      { layer: 'project', place: 'svc.toml:2:1', value: 8080 },
      { layer: 'defaults', place: 'install/defaults.toml:2:1', value: 1 },
      { layer: 'default', place: null, value: 3847 }
    ],
    schema: {
      type: 'integer',
      default: 3847,
      minimum: 1,
      maximum: 65535,
      'x-env': ['SVC_WEB_PORT', 'SVC_OLD_WEB_PORT']
    }
  })
})

t.test('explain reports an absent setting as default', async t => {
  const config = project(t).resolve([web])
  t.match(config.explain('web.host'), {
    key: 'plugins.web.host',
    value: '127.0.0.1',
    layer: 'default',
    place: null,
    overrides: [],
    description: 'Address to listen on.'
  })
  t.match(config.explain('web.base'), { value: null, layer: 'default', place: null })
})

t.test('a file outside the project is shown with its absolute path', async t => {
  const here = project(t, { 'user.toml': 'plugins.web.port = 5\n', 'project/svc.toml': '' })
  const config = here.resolve([web], { cwd: here.path('project'), userFile: here.path('user.toml') })
  t.equal(config.explain('web.port').place, `${here.path('user.toml')}:1:1`)
})

t.test('explain accepts nested keys, kernel keys and policies', async t => {
  const here = project(t, { 'svc.toml': `${toml}[kernel]\nwatch = false\n` })
  const config = here.resolve([web])
  t.match(config.explain('plugins.web.tls.verify'), { value: false, place: 'svc.toml:3:1' })
  t.match(config.explain('kernel.watch'), { value: false, plugin: 'kernel', reload: 'restart', place: 'svc.toml:6:1' })
  t.match(config.explain('plugins.web.isolation'), { value: 'in-process', layer: 'default' })
  t.match(config.explain('plugins.web.breaker.failures'), { value: 5 })
})

t.test('a table with free keys is one setting, merged from several layers', async t => {
  const here = project(t, { 'svc.toml': toml, 'svc.local.toml': '[plugins.web.weights]\nb = 2\n' })
  t.match(here.resolve([web]).explain('web.weights'), {
    value: { a: 1, b: 2 },
    layer: 'local',
    place: 'svc.local.toml:1:2',
    overrides: [
      { layer: 'project', value: { a: 1 } },
      { layer: 'default', value: {} }
    ]
  })
})

t.test('explain rejects an unknown key with a suggestion', async t => {
  const config = project(t).resolve([web])
  t.throws(() => config.explain('plugins.web.prot'), {
    code: 'CFG_SETTING_UNKNOWN',
    hint: 'did you mean "plugins.web.port"?'
  })
  t.throws(() => config.explain('entirely.different'), { code: 'CFG_SETTING_UNKNOWN', hint: /svc config list/ })
})

t.test('the list contains all settings of plugins, and policy settings that a layer sets', async t => {
  const here = project(t, { 'svc.toml': `${toml}enabled = true\n` })
  const config = here.resolve([web, plugin('other', { type: 'object', properties: { a: { type: 'string' } } })])
  const keys = config.settings().map(({ key }) => key)
  t.match(keys, ['kernel.plugin_directories', 'kernel.only', 'kernel.watch'])
  t.ok(keys.includes('plugins.web.port') && keys.includes('plugins.web.tls.verify') && keys.includes('plugins.other.a'))
  t.strictSame(
    keys.filter(key => /enabled|isolation|breaker/.test(key)),
    ['plugins.web.enabled']
  )
  t.equal(new Set(keys).size, keys.length, 'each setting is listed once')
})

t.test('a prefix filters the list by whole key segments', async t => {
  const config = project(t).resolve([web, plugin('website', { type: 'object', properties: { a: { type: 'string' } } })])
  const under = (prefix: string) => config.settings(prefix).map(({ key }) => key)
  t.strictSame(under('plugins.web.tls'), ['plugins.web.tls.verify', 'plugins.web.tls.file'])
  t.strictSame(under('web.tls.file'), ['plugins.web.tls.file'])
  t.ok(under('web').every(key => key.startsWith('plugins.web.')))
  t.ok(under('kernel').length > 5)
  t.strictSame(under('nothing'), [])
})

t.test('passwords in URLs are masked', async t => {
  const here = project(t, { 'svc.toml': 'plugins.web.host = "http://user:pa@ss@host.example/path"\n' })
  const config = here.resolve([web])
  t.equal(config.explain('plugins.web.host').value, 'http://user:********@host.example/path')
  t.match(
    config.settings('plugins.web.host').map(({ value }) => value),
    ['http://user:********@host.example/path']
  )
})
