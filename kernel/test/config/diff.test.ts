import t from 'tap'
import { diffConfig } from '#host'
import { plugin, project, type TestLike, web } from './project.ts'

const none = { live: [], plugin: [], restart: [] }

/** Returns the changes between two project files, and whether the plugin needs a new instance. */
function compare(test: TestLike, before: string, after: string, plugins = [web]) {
  const from = project(test, { 'svc.toml': before }).resolve(plugins)
  const to = project(test, { 'svc.toml': after }).resolve(plugins)
  const fingerprints = [from, to].map(config => config.plugins.get('web')?.fingerprint)
  return { ...diffConfig(from, to), rebuilt: fingerprints[0] !== fingerprints[1] }
}

t.test('an equivalent file causes no changes', async t => {
  const { kernel, plugins, rebuilt } = compare(
    t,
    '[plugins.web]\nport = 1\ntls.verify = false\n',
    '# comment\nplugins = { web = { tls = { verify = false }, port = 1 } }\n[kernel]\nwatch = true\n'
  )
  t.strictSame(kernel, none)
  t.equal(plugins.size, 0)
  t.equal(rebuilt, false)
})

t.test('changes are grouped by reload class', async t => {
  const { plugins, rebuilt } = compare(
    t,
    '',
    '[plugins.web]\nport = 1\nratio = 0.1\nmode = "fast"\ntls.verify = false\n'
  )
  t.strictSame(plugins.get('web'), {
    enabled: false,
    policy: none,
    settings: { live: ['ratio'], plugin: ['port', 'tls.verify'], restart: ['mode'] }
  })
  t.equal(rebuilt, true)
})

t.test('live and restart settings need no new instance', async t => {
  t.equal(compare(t, '', '[plugins.web]\nratio = 0.1\nmode = "fast"\nrequired = true\nenabled = true\n').rebuilt, false)
})

t.test('`enabled` and other policy changes are reported separately', async t => {
  const { plugins, rebuilt } = compare(t, '', '[plugins.web]\nenabled = false\nisolation = "worker"\nrequired = true\n')
  t.strictSame(plugins.get('web'), {
    enabled: true,
    policy: { live: ['required'], plugin: ['isolation'], restart: [] },
    settings: none
  })
  t.equal(rebuilt, true)
})

t.test('changes of the kernel are reported separately', async t => {
  const { kernel, plugins } = compare(t, '', '[kernel]\nlog_level = "debug"\nlog_format = "json"\n')
  t.strictSame(kernel, { live: ['log_level'], plugin: [], restart: ['log_format'] })
  t.equal(plugins.size, 0)
})

t.test('undeclared keys that a schema allows also count as changes', async t => {
  const open = plugin('web', { type: 'object', properties: {}, additionalProperties: true })
  const { plugins, rebuilt } = compare(t, '', '[plugins.web]\nfree = 1\n', [open])
  t.strictSame(plugins.get('web')?.settings.plugin, ['free'])
  t.equal(rebuilt, true)
})

t.test('the order of keys is no change', async t => {
  t.equal(
    compare(t, '[plugins.web]\nweights = { a = 1, b = 2 }\n', '[plugins.web]\nweights = { b = 2, a = 1 }\n').rebuilt,
    false
  )
})

t.test('a new plugin is not reported as a change', async t => {
  const here = project(t)
  t.equal(diffConfig(here.resolve([]), here.resolve([web])).plugins.size, 0)
  t.equal(diffConfig(here.resolve([web]), here.resolve([])).plugins.size, 0)
})
