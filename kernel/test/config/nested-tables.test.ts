import { lookup, pathOfKey, tryToml } from '@svc/config'
import { t as schema } from '@svc/plugin-sdk'
import t from 'tap'
import { configSchema } from '#host'
import { plugin, project } from './project.ts'

const fleet = plugin(
  'fleet',
  schema.object({ size: schema.integer({ default: 1, 'x-aliases': ['count'] }) }, { 'x-section': 'fleet' })
)
const news = plugin(
  'news',
  schema.object(
    {
      site: schema.string({ default: 'https://a.example', 'x-env': 'SVC_TEST_SITE' }),
      token: schema.optional(schema.secret())
    },
    { 'x-section': 'news', 'x-section-aliases': ['fleet.news'] }
  )
)

function resolved(text: string, plugins = [fleet, news], env: Readonly<Record<string, string>> = {}) {
  const here = project(t, { 'svc.toml': text })
  return here.resolve(plugins, { env: { HOME: here.root, ...env } })
}

t.test('a table inside the table of another plugin holds settings of the plugin that declares it', async t => {
  for (const plugins of [
    [fleet, news],
    [news, fleet]
  ]) {
    const config = resolved('[fleet]\nsize = 3\n[fleet.news]\nsite = "https://b.example"\n', plugins)
    t.strictSame(config.problems, [])
    t.strictSame(config.plugins.get('fleet')?.values, { size: 3 })
    t.strictSame(config.plugins.get('news')?.values, { site: 'https://b.example' })
    t.match(config.explain('fleet.news.site'), { key: 'news.site', plugin: 'news', place: 'svc.toml:4:1' })
    t.match(config.explain('news.site'), { value: 'https://b.example', place: 'svc.toml:4:1' })
  }
})

t.test('the plugin’s own table and a variable override the nested table', async t => {
  const text = '[fleet.news]\nsite = "https://b.example"\n[news]\nsite = "https://c.example"\n'
  t.equal(resolved(text).plugins.get('news')?.values?.site, 'https://c.example')
  const env = { SVC_TEST_SITE: 'https://d.example' }
  t.equal(resolved(text, [fleet, news], env).plugins.get('news')?.values?.site, 'https://d.example')
  t.equal(
    resolved('fleet.news = { site = "https://e.example" }').plugins.get('news')?.values?.site,
    'https://e.example'
  )
})

t.test('unknown keys are reported by the plugin of the table that they are in', async t => {
  t.match(resolved('[fleet.news]\nsitee = "x"\n').problems, [
    { code: 'CFG_KEY_UNKNOWN', key: 'news.sitee', line: 2, hint: 'did you mean "site"?' }
  ])
  t.match(resolved('[fleet]\nsice = 1\n').problems, [
    { code: 'CFG_KEY_UNKNOWN', key: 'fleet.sice', line: 2, hint: 'did you mean "size"?' }
  ])
  t.match(resolved('[fleet.nevs]\nsite = "x"\n').problems, [{ code: 'CFG_KEY_UNKNOWN', key: 'fleet.nevs' }])
  t.match(resolved('[fleet]\nnews = 3\n').problems, [
    { code: 'CFG_VALUE_INVALID', message: 'fleet.news must be a table', line: 2 }
  ])
})

t.test('the nested table is read without the plugin of the outer table, which has no other keys then', async t => {
  const config = resolved('[fleet.news]\nsite = "https://b.example"\n', [news])
  t.strictSame(config.problems, [])
  t.equal(config.plugins.get('news')?.values?.site, 'https://b.example')
  t.match(resolved('[fleet]\nsize = 3\n', [news]).problems, [{ code: 'CFG_KEY_UNKNOWN', key: 'fleet.size', line: 2 }])
})

t.test('a nested table that is a setting, an alias or a table of another plugin is a conflict', async t => {
  const inner = (name: string, alias: string) =>
    plugin(
      name,
      schema.object({ site: schema.string({ default: '' }) }, { 'x-section': name, 'x-section-aliases': [alias] })
    )
  for (const key of ['size', 'count']) {
    const { plugins } = resolved('', [inner('rival', `fleet.${key}`), fleet])
    t.match(plugins.get('rival')?.problems, [
      { code: 'CFG_SECTION_CONFLICT', message: new RegExp(`^plugin rival .*\\[fleet.${key}\\], which .* fleet$`) }
    ])
    t.strictSame(plugins.get('fleet')?.problems, [])
  }
  const { plugins } = resolved('', [fleet, news, inner('rival', 'fleet.news')])
  t.match(plugins.get('rival')?.problems, [{ code: 'CFG_SECTION_CONFLICT', message: /which belongs to plugin news$/ }])
})

t.test('an assignment changes the table that the file has', async t => {
  const here = project(t, {})
  const { sections } = here.resolve([fleet, news], { env: { HOME: here.root } }).resolved
  const path = (key: string, text: string) => pathOfKey(sections, key, tryToml(text) ?? {})
  t.same(path('news.site', ''), ['news', 'site'])
  t.same(path('news.site', '[fleet.news]\nsite = "a"'), ['fleet', 'news', 'site'])
  t.same(path('fleet.news.site', '[news]\nsite = "a"'), ['news', 'site'])
})

t.test('the schema for editors has the nested table next to the settings of the outer one', async t => {
  const { properties } = configSchema([news, fleet]) as never as { properties: Record<string, object> }
  t.match(lookup(properties as never, ['fleet', 'properties']), {
    size: { type: 'integer' },
    news: { properties: { site: { type: 'string' } }, additionalProperties: false }
  })
  t.equal(lookup(properties as never, ['fleet', 'additionalProperties']), false)
})
