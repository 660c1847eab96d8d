// Opens the stores of the coordination contract. Benchmarks compile this file like a published plugin.
import type { Coordination } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { DatabaseCoordination } from '../../plugins/coordination/src/database-coordination.ts'
import { PostgresCoordination } from '../../plugins/coordination-postgres/src/postgres-coordination.ts'
import { parseServerAddress } from '../../plugins/coordination-postgres/src/server-address.ts'
import { openFile } from '../../plugins/database/src/store/local-store.ts'

export interface OpenedStore {
  readonly store: Coordination
  close(): Promise<void>
}

const silent = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger

/** Opens the store in a PostgreSQL database. Each commit is synced to disk, as the server is configured. */
export function openPostgresStore(url: string, connections: number): OpenedStore {
  const address = parseServerAddress({ url, folder: '/' })
  const store = new PostgresCoordination({ address, connections, fanout: null, log: silent })
  return { store, close: () => store.close() }
}

/** Opens the store in a libsql file, with `synchronous = full`: each commit is synced to disk. */
export async function openEmbeddedStore(file: string): Promise<OpenedStore> {
  const database = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'full' })
  const store = new DatabaseCoordination(database)
  return {
    store,
    async close() {
      await store.close()
      await database.close()
    }
  }
}
