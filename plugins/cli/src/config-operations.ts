import { defineOperation, t } from '@svc/plugin-sdk'
import { callerProblems, problemFields } from './caller-problems.ts'

const setting = {
  key: t.string(),
  plugin: t.string(),
  value: t.unknown(),
  layer: t.string(),
  place: t.nullable(t.string()),
  env: t.array(t.string()),
  reload: t.enum(['live', 'plugin', 'restart']),
  secret: t.boolean(),
  description: t.string(),
  refused: t.optional(
    t.object(
      { value: t.unknown(), layer: t.string(), place: t.nullable(t.string()), message: t.string() },
      { description: 'Invalid value that is not in force, with the reason' }
    )
  )
}

export const configList = defineOperation({
  id: 'kernel.config.list',
  summary: 'List settings with value, layer and environment variable',
  input: t.object({
    prefix: t.optional(
      t.string({ description: 'List only keys with this prefix, for example plugins.http', 'x-complete': 'settings' })
    )
  }),
  output: t.object({ settings: t.array(t.object(setting)) }),
  effect: 'read',
  watch: { on: ['kernel.config'] },
  expose: {
    http: { method: 'GET', path: '/kernel/config' },
    rpc: true,
    cli: {
      command: 'config list',
      args: ['prefix'],
      view: { rows: 'settings', columns: ['key', 'value', 'layer', 'place', 'env'] }
    }
  }
})

export const configExplain = defineOperation({
  id: 'kernel.config.explain',
  summary: "Show where a setting's value comes from",
  input: t.object({
    key: t.string({ minLength: 1, description: 'Dotted key, for example plugins.http.port', 'x-complete': 'settings' }),
    callerProblems
  }),
  output: t.object({
    ...setting,
    overrides: t.array(t.object({ layer: t.string(), place: t.nullable(t.string()), value: t.unknown() })),
    schema: t.record(t.unknown()),
    text: t.string()
  }),
  effect: 'read',
  expose: { rpc: true, cli: { command: 'config explain', args: ['key'], view: { text: 'text' } } }
})

export const configValidate = defineOperation({
  id: 'kernel.config.validate',
  summary: 'Check the configuration on disk without applying it',
  input: t.object({ callerProblems }),
  output: t.object({
    valid: t.boolean(),
    problems: t.array(t.object(problemFields)),
    text: t.string()
  }),
  effect: 'read',
  expose: { rpc: true, cli: { command: 'config validate', view: { text: 'text' } } }
})

export const configSchema = defineOperation({
  id: 'kernel.config.schema',
  summary: 'Print the JSON Schema of svc.toml for editors',
  input: t.object({}),
  output: t.record(t.unknown()),
  effect: 'read',
  expose: { rpc: true, cli: { command: 'config schema' } }
})
