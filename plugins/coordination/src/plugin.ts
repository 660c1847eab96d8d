import { coordinationBackend, coordinationFanout, coordinationStore, databaseStore } from '@svc/contracts'
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
  async activate(ctx, { database, backend, fanout }) {
    if (backend.store !== null) {
      ctx.provide(coordinationStore, backend.store)
      return
    }
    const { file } = ctx.config
    const own = file === undefined ? null : await database.open({ file })
    const store = new DatabaseCoordination(own ?? database, fanout)
    ctx.provide(coordinationStore, store)
    return async () => {
      await store.close()
      await own?.close()
    }
  }
})
