import { backupParts, coordinationBackend, coordinationFanout, coordinationStore, databaseStore } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { DatabaseCoordination } from './database-coordination.ts'
import { settings } from './settings.ts'

export default definePlugin({
  name: 'coordination',
  summary: 'Queues and leases with one holder, in the primary database or on a server',
  config: settings,
  // Required: with a server that is configured but cannot be used, the embedded store must not replace it.
  requires: { database: databaseStore, backend: coordinationBackend },
  optional: { fanout: coordinationFanout },
  provides: [coordinationStore],
  contributes: [backupParts],
  async activate(ctx, { database, backend, fanout }) {
    if (backend.store !== null) {
      ctx.contribute(backupParts, {
        name: 'coordination',
        summary: 'coordination store',
        kind: 'data',
        elsewhere: () => 'back up the coordination store on its server'
      })
      ctx.provide(coordinationStore, backend.store)
      return
    }
    const { file } = ctx.config
    if (file !== undefined)
      ctx.contribute(backupParts, {
        name: 'coordination',
        summary: 'database of the coordination store',
        kind: 'data',
        paths: () => [file]
      })
    const own = file === undefined ? null : await database.open({ file })
    const store = new DatabaseCoordination(own ?? database, fanout)
    ctx.provide(coordinationStore, store)
    return async () => {
      await store.close()
      await own?.close()
    }
  }
})
