import { coordinationBackend, coordinationFanout, readiness, workflowStores } from '@svc/contracts'
import { definePlugin, errorMessage, withTimeout } from '@svc/plugin-sdk'
import { postgresErrors } from './errors.ts'
import { newEpoch } from './operations.ts'
import { parseServerAddress } from './server-address.ts'
import { settings } from './settings.ts'

/** Time limit of the check of the server. */
const READINESS_MS = 1_000

export default definePlugin({
  name: 'coordination-postgres',
  summary: 'Keeps queues, leases and the state of the mesh in PostgreSQL, for several machines',
  config: settings,
  optional: { fanout: coordinationFanout },
  provides: [coordinationBackend, workflowStores],
  operations: [newEpoch],
  permissions: { fsRead: ['*'] },
  async activate(ctx, { fanout = null }) {
    const { url, password, ca_file, connections } = ctx.config
    if (url === undefined) {
      if (password !== undefined || ca_file !== undefined)
        ctx.log.warn('coordination.password and coordination.ca_file have no effect without coordination.url')
      ctx.provide(coordinationBackend, { store: null })
      ctx.provide(workflowStores, { open: null })
      ctx.implement(newEpoch, () => {
        throw postgresErrors.create('CPG_NOT_CONFIGURED', 'The coordination store is not on a PostgreSQL server.', {
          hint: 'set coordination.url; for the primary database, use svc db restore',
          at: { path: 'coordination.url' }
        })
      })
      return
    }
    const address = parseServerAddress({ url, password, caFile: ca_file, folder: ctx.projectRoot })
    // Loaded here, since most projects have no such server.
    const { PostgresCoordination } = await import('./postgres-coordination.ts')
    const store = new PostgresCoordination({ address, connections, fanout, log: ctx.log })
    ctx.provide(coordinationBackend, { store })
    ctx.provide(workflowStores, { open: repository => store.workflows(repository) })
    ctx.implement(newEpoch, async ({ epoch }) => {
      const number = await store.newEpoch(epoch)
      const { location } = store
      return { epoch: number, location, text: `epoch ${number} of ${location} begins; all earlier leases ended` }
    })
    ctx.contribute(readiness, {
      name: 'coordination',
      async check() {
        try {
          await withTimeout(READINESS_MS, () => store.now())
          return { ok: true, detail: store.location }
        } catch (error) {
          return { ok: false, detail: `${store.location}: ${errorMessage(error)}` }
        }
      }
    })
    return () => store.close()
  }
})
