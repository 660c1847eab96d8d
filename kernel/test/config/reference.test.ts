import { readFileSync } from 'node:fs'
import { parseToml } from '@svc/config'
import { t as schema } from '@svc/plugin-sdk'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { configSchema } from '#host'
import { renderConfigReference, renderEnvExample } from '../../tools/config-reference.ts'
import { plugin, project, web } from './project.ts'

const section = plugin(
  'orchestra',
  schema.object({ enabled: schema.boolean({ default: true }), url: schema.string() }, { 'x-section': 'orchestration' })
)

t.test('the editor schema accepts valid files and rejects typos', async t => {
  const document = configSchema([web, section])
  const validate = new Ajv2020({ strict: false, meta: false, validateSchema: false }).compile(document)
  for (const text of [
    '',
    '[kernel]\nwatch = false\n',
    '[plugins.web]\nport = 1\nenabled = true\nbreaker.failures = 1\n',
    '[plugins.not-installed]\nx = 1\n',
    '[orchestration]\nenabled = false\n',
    '[plugins.orchestra]\nisolation = "worker"\n'
  ]) {
    t.ok(validate(parseToml(text)), text)
  }
  for (const text of [
    '[kernel]\nwatsh = false\n',
    '[plugins.web]\nprot = 1\n',
    '[plugins.web]\nport = "x"\n',
    '[orchestration]\nagnets = 1\n',
    '[unheard]\n'
  ]) {
    t.notOk(validate(parseToml(text)), text)
  }
})

t.test('references in a plugin’s schema resolve inside that schema', async t => {
  const foreign = plugin('foreign', {
    type: 'object',
    properties: { a: { $ref: '#/$defs/A' } },
    $defs: { A: { type: 'integer' } }
  })
  const validate = new Ajv2020({ strict: false, meta: false, validateSchema: false }).compile(configSchema([foreign]))
  t.ok(validate({ plugins: { foreign: { a: 1 } } }))
  t.notOk(validate({ plugins: { foreign: { a: 'x' } } }))
})

t.test('the configuration reference has a row for each setting', async t => {
  const text = renderConfigReference([web, section])
  const config = project(t).resolve([web, section])
  for (const { path } of config.resolved.sections.flatMap(section => section.declared))
    t.match(text, `| \`${path.join('.')}\` |`)
  t.match(text, '## web\n\nTable `[plugins.web]`.')
  t.match(text, '## orchestra\n\nTable `[orchestration]`.')
  t.match(text, '| `host` | a string | `"127.0.0.1"` | `SVC_WEB_HOST` | plugin | Address to listen on. |')
  t.match(text, 'a string (minLength 8), secret')
})

t.test('.env.example contains each variable once, commented out', async t => {
  const text = renderEnvExample([web])
  const lines = text.split('\n')
  t.ok(lines.includes('#SVC_WEB_PORT=3847'))
  t.ok(lines.includes('#SVC_WEB_TOKEN='))
  t.ok(lines.includes('#SVC_DATA_DIR='))
  t.match(text, 'also SVC_OLD_WEB_PORT')
  t.ok(lines.every(line => line === '' || line.startsWith('#')))
})

t.test('the shipped defaults.toml is valid', async t => {
  const file = new URL('../../../config/defaults.toml', import.meta.url)
  const uncommented = readFileSync(file, 'utf8')
    .replace(/^# (?=\[|[a-z_]+ = )/gm, '')
    .replaceAll('NAME', 'web')
  const config = project(t, { 'svc.toml': uncommented }).resolve([web])
  t.strictSame(config.problems, [])
  t.ok(config.settings('kernel').filter(({ layer }) => layer === 'project').length >= 8)
})
