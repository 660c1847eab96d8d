import { isDeepStrictEqual } from 'node:util'
import { lookup, maskSecrets, pathOfKey, shadowOf, tryToml } from '@svc/config'
import { t as schema } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { configSchema } from '#host'
import { plugin, project } from './project.ts'

const mesh = plugin(
  'relay',
  schema.object(
    {
      url: schema.optional(
        schema.string({ 'x-aliases': ['old_url', 'older_url'], 'x-env': 'SVC_RELAY_URL', 'x-env-empty': 'clear' })
      ),
      token: schema.optional(schema.secret({ 'x-aliases': ['key'] })),
      limits: schema.object({ size: schema.integer({ default: 1, minimum: 0, 'x-aliases': ['max'] }) })
    },
    { 'x-section': 'relay' }
  )
)

function settingsOf(text: string, env: Readonly<Record<string, string>> = {}, set: readonly string[] = []) {
  const here = project(t, { 'svc.toml': text })
  const config = here.resolve([mesh], { env: { HOME: here.root, ...env }, set })
  const { sections } = config.resolved
  const { settings = {} } = config.resolved.section('settings of relay') ?? {}
  return { here, config, sections, settings, problems: config.problems }
}

t.test('a setting is read under each of its names, also in nested tables and in [plugins.NAME]', async t => {
  for (const name of ['url', 'old_url', 'older_url'])
    t.match(settingsOf(`[relay]\n${name} = "a"`), { settings: { url: 'a' }, problems: [] }, name)
  t.match(settingsOf('[plugins.relay]\nold_url = "a"'), { settings: { url: 'a' }, problems: [] })
  t.match(settingsOf('[relay.limits]\nmax = 7'), { settings: { limits: { size: 7 } }, problems: [] })
  t.match(settingsOf('', {}, ['relay.old_url=a']), { settings: { url: 'a' }, problems: [] })
})

t.test('a variable and a higher layer override a value under an alias', async t => {
  t.match(settingsOf('[relay]\nold_url = "a"', { SVC_RELAY_URL: 'b' }).settings, { url: 'b' })
  t.equal(settingsOf('[relay]\nold_url = "a"', { SVC_RELAY_URL: '' }).settings.url, undefined)
  t.match(settingsOf('[relay]\nurl = "a"', {}, ['relay.old_url=b']).settings, { url: 'b' })
  t.equal(settingsOf('[relay]\nurl = "a"', {}, ['relay.old_url=!unset']).settings.url, undefined)
})

t.test('of two names in one file the own one applies, and the other is reported', async t => {
  const { settings, problems, here } = settingsOf('[relay]\nolder_url = "c"\nold_url = "b"\nurl = "a"')
  t.equal(settings.url, 'a')
  t.match(problems, [
    {
      severity: 'warning',
      code: 'CFG_ALIAS_IGNORED',
      key: 'relay.old_url',
      file: here.path('svc.toml'),
      line: 3,
      message: /^relay\.old_url is another name of relay\.url, which is set at .*:4:1; it is ignored$/
    },
    { code: 'CFG_ALIAS_IGNORED', key: 'relay.older_url', line: 2 }
  ])
})

t.test('problems and explanations name the position of the alias', async t => {
  const wrong = settingsOf('[relay]\n\nlimits = { max = -1 }')
  t.match(wrong.problems, [{ code: 'CFG_VALUE_INVALID', key: 'relay.limits.size', line: 3, column: 12 }])
  const { config } = settingsOf('[relay]\nold_url = "a"')
  for (const key of ['relay.url', 'relay.old_url', 'plugins.relay.older_url'])
    t.match(config.explain(key), { key: 'relay.url', value: 'a', place: /:2:1$/ })
})

t.test('an assignment changes the key that the file has', async t => {
  const { sections } = settingsOf('')
  const path = (key: string, text: string) => pathOfKey(sections, key, tryToml(text) ?? {})
  t.same(path('relay.url', ''), ['relay', 'url'])
  t.same(path('relay.old_url', ''), ['relay', 'url'], 'new keys have the name of the setting')
  t.same(path('relay.url', '[relay]\nold_url = "a"'), ['relay', 'old_url'])
  t.same(path('relay.old_url', '[relay]\nold_url = "a"\nurl = "b"'), ['relay', 'url'])
})

t.test('a higher layer is reported for a key under an alias', async t => {
  const { sections } = settingsOf('[relay]\nold_url = "a"', { SVC_RELAY_URL: 'b' })
  t.match(shadowOf(sections, ['relay', 'old_url']), { layer: 'environment', place: 'SVC_RELAY_URL' })
})

t.test('a secret under an alias is masked', async t => {
  const { sections } = settingsOf('')
  t.equal(maskSecrets('[relay]\nkey = "abc"\nold_url = "b"', sections).text, '[relay]\nkey = "********"\nold_url = "b"')
})

t.test('the schema for editors accepts aliases as deprecated keys', async t => {
  const { properties } = configSchema([mesh]) as never as { properties: { relay: { properties: object } } }
  t.match(properties.relay.properties, {
    url: { type: 'string' },
    old_url: { type: 'string', deprecated: true },
    limits: { properties: { max: { type: 'integer', deprecated: true } } }
  })
  t.notOk('deprecated' in (lookup(properties.relay.properties as never, ['url']) as object))
})

t.test('an alias that is the name of another setting is an error of the plugin', async t => {
  const clash = plugin(
    'clash',
    schema.object({ a: schema.integer({ default: 1, 'x-aliases': ['b'] }), b: schema.integer({ default: 2 }) })
  )
  t.match(project(t).resolve([clash]).problems, [{ code: 'CFG_KEY_RESERVED', key: 'plugins.clash.a' }])
})

t.test('the same values under any names give the same settings', async () => {
  const name = fc.constantFrom('url', 'old_url', 'older_url')
  fc.assert(
    fc.property(name, fc.constantFrom('size', 'max'), fc.string(), fc.nat(9), (url, size, text, number) => {
      const given = `[relay]\n${url} = ${JSON.stringify(text.replaceAll(/[^ -~]/g, ''))}\nlimits = { ${size} = ${number} }`
      const own = given.replace(`${url} =`, 'url =').replace(`${size} =`, 'size =')
      return isDeepStrictEqual(settingsOf(given).settings, settingsOf(own).settings)
    }),
    { numRuns: 50 }
  )
})
