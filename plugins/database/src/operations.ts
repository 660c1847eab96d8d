import { stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { databaseErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { pluginErrors } from './errors.ts'
import type { PrimaryStore } from './primary-store.ts'
import { restore } from './restore.ts'

const { DBS_BACKUP_FAILED, DBS_BUSY, DBS_FULL, DBS_NO_BINDING, DBS_UNSUPPORTED } = databaseErrors.specs
const { DBP_BACKUP_INVALID } = pluginErrors.specs
/** Time limit for copying a database; large ones take long. */
const COPY_TIMEOUT_MS = 3_600_000

const capabilities = t.object({
  fts: t.boolean({ description: 'Full-text search.' }),
  vector: t.boolean({ description: 'Vector functions and indexes.' }),
  replica: t.boolean({ description: 'True for a replica of a remote database.' }),
  durable: t.boolean({ description: 'True if acknowledged changes survive the process.' }),
  mvcc: t.boolean({ description: 'True if writers do not wait for each other.' }),
  backup: t.boolean({ description: 'True if svc db backup can copy the database.' })
})

export const databaseStatus = defineOperation({
  id: 'database.status',
  summary: 'Show the location, capabilities and schema state of the database',
  input: t.object({}),
  output: t.object({
    healthy: t.boolean(),
    mode: t.enum(['memory', 'file', 'remote', 'replica']),
    location: t.string({ description: 'Path or URL.' }),
    fallback_of: t.nullable(
      t.string({ description: 'Configured file, if it cannot be written and another one is used.' })
    ),
    schema_version: t.nullable(t.integer()),
    expected_version: t.integer(),
    baseline_digest: t.nullable(t.string({ description: 'Digest of the schema in the database.' })),
    expected_digest: t.string(),
    missing_tables: t.array(t.string()),
    capabilities: t.nullable(capabilities),
    text: t.string({ description: 'State of the database, or its problems, as sentences.' })
  }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/database/status' },
    mcp: {
      name: 'svc_database_status',
      toolsets: ['status'],
      use: 'Read it when data is missing or writes fail. The orchestrator: svc_orchestrator_status.'
    },
    rpc: true,
    cli: { command: 'db status', view: { text: 'text' } }
  }
})

export const databaseBackup = defineOperation({
  id: 'database.backup',
  summary: 'Write a consistent backup of the database while it is in use',
  input: t.object({
    file: t.optional(
      t.string({
        minLength: 1,
        description: 'A new file, relative to the project. Default: a name with the current time.'
      })
    )
  }),
  output: t.object({ file: t.string(), bytes: t.integer(), text: t.string() }),
  errors: { DBS_BACKUP_FAILED, DBS_FULL, DBS_NO_BINDING, DBS_UNSUPPORTED },
  effect: 'write',
  timeoutMs: COPY_TIMEOUT_MS,
  expose: { rpc: true, cli: { command: 'db backup', args: ['file'], view: { text: 'text' } } }
})

export const databaseRestore = defineOperation({
  id: 'database.restore',
  summary: 'Replace the database with a backup and keep the replaced file',
  input: t.object({ file: t.string({ minLength: 1, description: 'Path of the backup, relative to the project.' }) }),
  output: t.object({
    file: t.string({ description: 'Path of the database.' }),
    kept: t.nullable(t.string({ description: 'Path of the replaced database.' })),
    text: t.string()
  }),
  errors: { DBP_BACKUP_INVALID, DBS_BUSY, DBS_NO_BINDING, DBS_UNSUPPORTED },
  effect: 'destructive',
  timeoutMs: COPY_TIMEOUT_MS,
  expose: { rpc: true, cli: { command: 'db restore', args: ['file'], view: { text: 'text' } } }
})

export interface OperationsOptions {
  readonly store: PrimaryStore
  readonly projectRoot: string
  /** Returns the folder for backups without a file name. */
  readonly copies: () => Promise<string>
  /** Called when a backup has replaced the file, before the next statement. */
  readonly restored: () => void
}

/** Returns why the database is not the configured one; null if it is. */
export function degradation({ replaced, location }: Pick<PrimaryStore, 'replaced' | 'location'>): string | null {
  if (replaced === null) return null
  return `degraded: ${location} is used as a fallback, because ${replaced} cannot be written`
}

export function statusHandler({ store }: OperationsOptions): Handler<typeof databaseStatus> {
  return async () => {
    const status = await store.status()
    const { ok, mode, location, capabilities, problems } = status
    const can = capabilities === null ? [] : Object.entries(capabilities).flatMap(([name, on]) => (on ? [name] : []))
    const degraded = degradation(store)
    const text = [
      `${location} (${mode}): ${ok ? `schema version ${status.schemaVersion}, up to date` : problems.join('; ')}`,
      ...(can.length === 0 ? [] : [`can: ${can.join(', ')}`]),
      ...(degraded === null ? [] : [`${degraded}; make it writable and restart`])
    ].join('\n')
    return {
      healthy: ok,
      mode,
      location,
      fallback_of: store.replaced,
      schema_version: status.schemaVersion,
      expected_version: status.expectedVersion,
      baseline_digest: status.digest,
      expected_digest: status.expectedDigest,
      missing_tables: [...status.missingTables],
      capabilities: capabilities === null ? null : { ...capabilities },
      text
    }
  }
}

export function backupHandler({ store, projectRoot, copies }: OperationsOptions): Handler<typeof databaseBackup> {
  return async ({ file: named }) => {
    const time = new Date().toISOString().replaceAll(/[:.]/g, '')
    const file = named === undefined ? join(await copies(), `copy-${time}.db`) : resolve(projectRoot, named)
    makePrivateFolder(dirname(file))
    await store.backup(file)
    const { size } = await stat(file)
    return { file, bytes: size, text: `${store.location} was copied to ${file} (${size} bytes)` }
  }
}

export function restoreHandler({ store, projectRoot, restored }: OperationsOptions): Handler<typeof databaseRestore> {
  return async ({ file: named }) => {
    if (store.mode !== 'file')
      throw databaseErrors.create('DBS_UNSUPPORTED', `${store.location} must be restored on its server: ${store.mode}`)
    const file = store.location
    const copy = resolve(projectRoot, named)
    const { kept } = await store.whileClosed(async () => {
      const result = await restore(copy, file, new Date())
      restored()
      return result
    })
    const before = kept === null ? '' : `; the replaced file is ${kept}`
    return { file, kept, text: `${copy} is now ${file}${before}` }
  }
}
