import { join } from 'node:path'
import {
  backupParts,
  type DatabaseMigration,
  databaseCollections,
  databaseMigrated,
  databaseStore,
  kernelAdmin,
  kernelPort,
  observabilitySpans,
  readiness,
  resourceLimits,
  secretsPolicy
} from '@svc/contracts'
import { definePlugin, errorMessage, type PluginContext, ref } from '@svc/plugin-sdk'
import { CircuitBreaker } from './circuit-breaker.ts'
import { contributeCodex } from './codex/contribute.ts'
import { codexOperations } from './codex/operations.ts'
import { Collections } from './collections.ts'
import { dataDirectory } from './data-directory.ts'
import { pluginErrors } from './errors.ts'
import { journeySteps, journeyStepsHandler } from './journey-steps.ts'
import { type DatabaseLocation, locationOf, sqlAliasesOf, withoutSqlAliases } from './location.ts'
import {
  backupHandler,
  databaseBackup,
  databaseRestore,
  databaseStatus,
  degradation,
  restoreHandler,
  statusHandler
} from './operations.ts'
import { PrimaryStore } from './primary-store.ts'
import { type Settings, settings } from './settings.ts'

export default definePlugin({
  name: 'database',
  summary: 'The primary database: a local file, a remote database, or a replica of one',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin, spans: ref(observabilitySpans), limits: ref(resourceLimits) },
  provides: [databaseStore, databaseCollections],
  contributes: [backupParts],
  hooks: [databaseMigrated],
  operations: [databaseStatus, databaseBackup, databaseRestore, journeySteps, ...codexOperations],
  permissions: { fsRead: ['*'], fsWrite: ['*'], nativeAddons: true, worker: true },
  async activate(ctx, { kernel, admin, spans, limits }) {
    const config: Settings = ctx.config
    const folder = admin?.settings('kernel.data_directory').find(({ key }) => key === 'kernel.data_directory')?.value
    const { legacySqlAliases } = secretsPolicy(admin)
    const refused = legacySqlAliases ? [] : sqlAliasesOf(config)
    if (refused.length > 0)
      ctx.log.warn('the cutover of secrets refuses deprecated settings; set SVC_DB_URL and SVC_DB_TOKEN', { refused })
    const place = locationOf(legacySqlAliases ? config : withoutSqlAliases(config), {
      project: ctx.projectRoot,
      // The folder is created at the first write, so that programs without a database run in read-only folders.
      state: kernel.stateRoot,
      data: dataDirectory(typeof folder === 'string' ? folder : undefined, process.env)
    })
    if (config.mvcc)
      throw pluginErrors.create(
        'DBP_MVCC_UNSUPPORTED',
        'plugins.database.mvcc (SVC_DB_MVCC) is on, but the engines libSQL and sql.js have no concurrent writers',
        { at: { path: 'plugins.database.mvcc' }, hint: 'unset SVC_DB_MVCC' }
      )
    // The database may be opened before this generation serves, when hooks have no taps yet: such events are buffered.
    let early: DatabaseMigration[] | null = []
    const notify = (migration: DatabaseMigration): void => void ctx.trigger(databaseMigrated, migration).catch(() => {})
    ctx.onServe('migrations', () => {
      const waiting = early ?? []
      early = null
      for (const migration of waiting) notify(migration)
    })
    const store = new PrimaryStore({
      place,
      projectRoot: ctx.projectRoot,
      spans: () => spans?.available,
      migrated: migration => {
        if (early === null) notify(migration)
        else early.push(migration)
      },
      refusal: () => limits?.available?.refusal ?? null,
      breaker: config.circuit_breaker ? new CircuitBreaker() : null,
      busyTimeoutMs: config.busy_timeout_ms,
      synchronous: config.synchronous,
      remoteTimeoutMs: config.remote_timeout_ms,
      signal: ctx.signal,
      backups: join(kernel.stateRoot, 'plugins', ctx.name),
      warn: (message, reason) => ctx.log.warn(message, { reason: errorMessage(reason) })
    })
    ctx.provide(databaseStore, store)
    contributeParts(ctx, place, join(kernel.stateRoot, 'plugins', ctx.name))
    const collections = new Collections(store)
    ctx.provide(databaseCollections, collections)
    ctx.contribute(readiness, {
      name: 'database',
      async check() {
        const { ok, problems, expectedVersion, schemaVersion, digest, capabilities } = await store.status()
        const degraded = degradation(store)
        const state = `schema version ${expectedVersion}`
        return {
          ok,
          detail: !ok ? problems.join('; ') : degraded === null ? state : `${state}; ${degraded}`,
          data: { schema_version: schemaVersion, baseline_digest: digest, capabilities }
        }
      }
    })
    ctx.health('location', () => {
      const detail = degradation(store)
      return detail === null ? { status: 'ok' } : { status: 'degraded', detail }
    })
    const operations = {
      ...{ store, projectRoot: ctx.projectRoot, copies: () => ctx.dataDirectory() },
      restored: () => collections.forgetTables()
    }
    ctx.implement(databaseStatus, statusHandler(operations))
    ctx.implement(databaseBackup, backupHandler(operations))
    ctx.implement(databaseRestore, restoreHandler(operations))
    contributeCodex(ctx, store)
    ctx.implement(journeySteps, journeyStepsHandler(store))
    return () => store.close()
  }
})

/** Says what of the database belongs to a backup: the file, also outside of the project, but neither its copies nor a replica. */
function contributeParts(ctx: Pick<PluginContext, 'contribute'>, place: DatabaseLocation, copies: string): void {
  ctx.contribute(backupParts, {
    name: 'database',
    summary: 'primary database',
    kind: 'data',
    paths: () => (place.mode === 'file' ? [place.file] : []),
    elsewhere: () => (place.mode === 'file' ? null : `back up the database on its server, ${place.url}`)
  })
  ctx.contribute(backupParts, {
    name: 'database-copies',
    summary: 'copies and replicas of databases',
    kind: 'derived',
    paths: () => (place.mode === 'replica' ? [copies, place.file] : [copies])
  })
}
