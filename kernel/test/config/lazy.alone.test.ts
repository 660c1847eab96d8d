import { createRequire } from 'node:module'
import { t as schema } from '@svc/plugin-sdk'
import t from 'tap'
import { peekConfig } from '#host'
import { plugin, project } from './project.ts'

const loaded = (name: string): boolean =>
  Object.keys(createRequire(import.meta.url).cache).some(file => file.includes(`/node_modules/${name}/`))

const simple = plugin(
  'simple',
  schema.object({ a: schema.integer({ default: 1 }), b: schema.optional(schema.string()) })
)

t.test('a run with defaults loads no parser and no validator', async t => {
  const config = project(t).resolve([simple])
  t.strictSame(config.plugins.get('simple')?.values, { a: 1 })
  t.equal(config.settings().filter(({ plugin }) => plugin === 'simple').length, 2)
  for (const name of ['smol-toml', 'toml-eslint-parser', 'ajv', 'ajv-formats']) t.notOk(loaded(name), name)
})

t.test('enabled plugins are determined without loading a validator', async t => {
  const toml = '[kernel]\nplugin_directories = ["more", 3]\n[plugins.a]\nenabled = false\n[plugins.b]\nenabled = "no"\n'
  const here = project(t, { 'svc.toml': toml, 'svc.local.toml': 'plugins.c.enabled = true\n' })
  const peek = peekConfig(here.read({ set: ['plugins.d.enabled=false', 'plugins.c.enabled=!unset'] }))
  t.strictSame(peek.pluginDirectories, ['more'])
  t.strictSame(['a', 'b', 'c', 'd', 'e'].map(peek.enabled), [false, undefined, undefined, false, undefined])
  t.strictSame(peekConfig(project(t).read()).pluginDirectories, [])
  t.notOk(loaded('ajv'))
})

t.test('a run with a file loads the second parser only for source positions', async t => {
  const config = project(t, { 'svc.toml': '[plugins.simple]\na = 2\n' }).resolve([simple])
  t.strictSame(config.plugins.get('simple')?.values, { a: 2 })
  t.ok(loaded('smol-toml'))
  t.ok(loaded('ajv'))
  t.notOk(loaded('ajv-formats'))
  t.equal(config.explain('simple.a').place, 'svc.toml:2:1')
})
