import { adminErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { problemFields } from './caller-problems.ts'

// Operations that change svc.toml. Each names the text that it was made for by a digest, or is made for the current one.

const ADMIN = ['kernel.admin']
/** Each changed key is one more pass over the text. */
export const MAX_CHANGES = 200
export const MAX_KEY_CHARS = 1000
const MAX_TEXT_CHARS = 64 * 1024

const { CFG_CHANGED, CFG_VERSION_UNKNOWN, CFG_WRITE_REFUSED } = adminErrors.specs

const digest = t.string({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256 of the text of svc.toml that the change was previewed for'
})
const key = t.string({
  minLength: 1,
  maxLength: MAX_KEY_CHARS,
  description: 'Dotted key, for example plugins.http.port',
  'x-complete': 'settings'
})
const edit = {
  changes: t.optional(t.record(t.unknown(), { description: 'Values by dotted key; null removes a key' })),
  raw: t.optional(t.string({ maxLength: MAX_TEXT_CHARS, description: 'Whole text of svc.toml, instead of changes' }))
}
const dryRun = t.boolean({ default: false, description: 'Only print the planned changes' })

const changeReport = t.object({
  applied: t.boolean(),
  generation: t.integer(),
  add: t.array(t.string()),
  replace: t.array(t.string()),
  remove: t.array(t.string()),
  keep: t.array(t.string()),
  steps: t.array(t.string())
})

const problem = t.object(problemFields)

const preview = {
  path: t.string({ description: 'Absolute path of svc.toml' }),
  digest,
  diff: t.string({ description: 'Unified diff with masked secrets; empty if nothing changes' }),
  problems: t.array(problem, { description: 'All problems of the changed configuration' }),
  caused: t.array(problem, { description: 'Problems that the change causes; an error among them refuses it' }),
  shadowed: t.array(t.object({ key: t.string(), layer: t.string(), place: t.string() }), {
    description: 'Changed keys without effect, since another layer sets the value'
  }),
  changed: t.array(t.object({ key: t.string(), reload: t.enum(['live', 'plugin', 'restart']) }), {
    description: 'Settings whose value changes, and how they take effect'
  }),
  restart: t.array(t.string(), { description: 'Changed settings that take effect at the next start of svc' })
}

const written = t.object({
  ...preview,
  written: t.boolean({ description: 'False for a dry run, and if the file already had the content' }),
  applied: t.boolean({ description: 'True if the configuration is in force' }),
  plan: t.nullable(changeReport, { description: 'Changes of plugins: done, or for a dry run planned' }),
  refused: t.array(t.object({ plugin: t.nullable(t.string()), reason: t.string() }), {
    description: 'What does not run with the new settings, and why'
  }),
  text: t.string()
})

const errors = { CFG_CHANGED, CFG_WRITE_REFUSED }
/** Time for a plugin that is replaced to start and for its predecessor to drain. */
const change = { output: written, errors, scopes: ADMIN, timeoutMs: 120_000, concurrency: 1 } as const

export const configRead = defineOperation({
  id: 'kernel.config.read',
  summary: 'Print svc.toml with masked secrets',
  input: t.object({}),
  output: t.object({
    path: t.string(),
    exists: t.boolean(),
    text: t.string(),
    digest,
    editable: t.boolean({ description: 'True if no secret is masked, so that the text may be written as a whole' }),
    reason: t.nullable(t.string(), { description: 'Why it may not, with line numbers' })
  }),
  effect: 'read',
  // Masking does not find every secret in a text, such as one in a comment.
  scopes: ADMIN,
  watch: { on: ['kernel.config'] },
  expose: { rpc: true, cli: { command: 'config read', view: { text: 'text' } } }
})

export const configPreview = defineOperation({
  id: 'kernel.config.preview',
  summary: 'Show what a change of svc.toml would do',
  description: 'Give one of changes, raw, number and id.',
  input: t.object({
    ...edit,
    number: t.optional(t.integer({ minimum: 1, description: 'Previous text to restore, 1 for the newest' })),
    id: t.optional(t.string({ maxLength: 64, description: 'Id of the previous text to restore' }))
  }),
  output: t.object({ ...preview, plan: t.nullable(changeReport) }),
  errors: { CFG_VERSION_UNKNOWN, CFG_WRITE_REFUSED },
  effect: 'read',
  // It waits for its turn with all changes, may load a disabled plugin, and shows which guess of a secret is right.
  scopes: ADMIN,
  timeoutMs: 60_000,
  concurrency: 1,
  expose: { rpc: true }
})

export const configWrite = defineOperation({
  id: 'kernel.config.write',
  summary: 'Change svc.toml as previewed, and apply it',
  description: 'Give either changes or raw.',
  input: t.object({ ...edit, digest }),
  ...change,
  expose: { rpc: true }
})

export const configSet = defineOperation({
  id: 'kernel.config.set',
  summary: 'Set values in svc.toml, and apply them',
  input: t.object({
    settings: t.array(
      t.string({
        minLength: 3,
        maxLength: 100_000,
        description: 'KEY=VALUE, for example plugins.http.port=8080',
        'x-complete': 'settings'
      }),
      { minItems: 1, maxItems: MAX_CHANGES, description: 'KEY=VALUE, for example plugins.http.port=8080' }
    ),
    dryRun
  }),
  ...change,
  expose: { rpc: true, cli: { command: 'config set', args: ['settings'], view: { text: 'text' } } }
})

export const configUnset = defineOperation({
  id: 'kernel.config.unset',
  summary: 'Remove values from svc.toml, and apply the rest',
  input: t.object({
    keys: t.array(key, { minItems: 1, maxItems: MAX_CHANGES, description: 'Dotted keys to remove' }),
    dryRun
  }),
  ...change,
  expose: { rpc: true, cli: { command: 'config unset', args: ['keys'], view: { text: 'text' } } }
})

export const configHistory = defineOperation({
  id: 'kernel.config.history',
  summary: 'List previous texts of svc.toml',
  input: t.object({}),
  output: t.object({
    versions: t.array(
      t.object({
        number: t.integer({ description: '1 for the text before the last change' }),
        id: t.string(),
        time: t.string({ format: 'date-time', description: 'Time of the change that replaced this text' }),
        keys: t.array(t.string(), { description: 'Keys that the change set or removed' }),
        digest: t.string()
      })
    )
  }),
  effect: 'read',
  watch: { on: ['kernel.config'] },
  expose: {
    rpc: true,
    cli: { command: 'config history', view: { rows: 'versions', columns: ['number', 'time', 'keys'] } }
  }
})

export const configRollback = defineOperation({
  id: 'kernel.config.rollback',
  summary: 'Restore a previous text of svc.toml, and apply it',
  input: t.object({
    number: t.integer({ default: 1, minimum: 1, maximum: 1000, description: 'Number in svc config history' }),
    id: t.optional(t.string({ maxLength: 64, description: 'Id in the history, instead of the number' })),
    digest: t.optional(digest),
    dryRun
  }),
  ...change,
  errors: { ...errors, CFG_VERSION_UNKNOWN },
  expose: { rpc: true, cli: { command: 'config rollback', args: ['number'], view: { text: 'text' } } }
})

export const secretsDoctor = defineOperation({
  id: 'kernel.secrets.doctor',
  summary: 'Check the secrets of all settings without showing them',
  description: 'Resolves each reference to find out whether its backend has the secret.',
  input: t.object({}),
  output: t.object({
    healthy: t.boolean({ description: 'True if every reference is resolved and no file holds a literal secret' }),
    secrets: t.array(
      t.object({
        key: t.string(),
        plugin: t.string(),
        kind: t.enum(['reference', 'literal', 'unset']),
        reference: t.nullable(t.string()),
        backend: t.nullable(t.string()),
        resolved: t.nullable(t.boolean()),
        problem: t.nullable(t.string()),
        layer: t.string(),
        place: t.nullable(t.string()),
        warnings: t.array(t.string())
      })
    ),
    files: t.array(
      t.object({
        path: t.string(),
        mode: t.string(),
        shared: t.boolean({ description: 'True if other users may read the file' }),
        tracked: t.nullable(t.boolean(), { description: 'True if git tracks the file; null if unknown' })
      }),
      { description: 'Files that hold a literal secret' }
    )
  }),
  // Each call asks the backends for every secret.
  scopes: ADMIN,
  effect: 'read',
  timeoutMs: 60_000,
  concurrency: 1,
  expose: {
    rpc: true,
    cli: {
      command: 'secrets settings',
      view: {
        rows: 'secrets',
        columns: ['key', 'kind', 'reference', 'resolved', 'place', 'problem', 'warnings']
      }
    }
  }
})
