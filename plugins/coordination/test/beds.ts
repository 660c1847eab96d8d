import type { Coordination, DatabaseStore } from '@svc/contracts'
import type { CoordinationBed } from '@svc/contracts/conformance'
import { applyBaseline, openFile, openMemory, openRemote, restore } from '@svc/plugin-database/testing'
import type { Test } from 'tap'
import { DatabaseCoordination } from '#root'
import { startHranaServer } from '../../database/test/hrana-server.ts'
import { freshFile } from './files.ts'

const LOCAL = { busyTimeoutMs: 10_000, synchronous: 'normal' } as const
const TABLES = ['items', 'keys', 'dead', 'meta', 'nodes', 'seen', 'jti', 'rate'].map(name => `coord_${name}`)

type Open = () => Promise<CoordinationBed>

/** Stores on databases that `open` opens. The databases stay open for the next bed, which begins with empty tables. */
class Stores {
  readonly #open: () => Promise<DatabaseStore>
  readonly #databases: DatabaseStore[] = []
  readonly #stores: DatabaseCoordination[] = []
  /** Number of databases that the current bed uses. */
  #used = 0

  constructor(t: Test, open: () => Promise<DatabaseStore>) {
    this.#open = open
    t.teardown(() => this.close())
  }

  get database(): DatabaseStore {
    return this.#databases[0] as DatabaseStore
  }

  async first(): Promise<Coordination> {
    const [database] = this.#databases
    if (database !== undefined)
      await database.batch([...TABLES, 'distributed_locks'].map(table => ({ sql: `delete from ${table}` })))
    return this.add()
  }

  /** Opens a store on its own connection, or on that of the first store. */
  async add(connection: 'own' | 'shared' = 'own'): Promise<Coordination> {
    if (connection === 'own') this.#used += 1
    const at = this.#used - 1
    this.#databases[at] ??= await this.#open()
    const store = new DatabaseCoordination(this.#databases[at])
    this.#stores.push(store)
    return store
  }

  /** Ends a bed. */
  async end(): Promise<void> {
    this.#used = 0
    for (const store of this.#stores.splice(0)) await store.close()
  }

  async close(): Promise<void> {
    await this.end()
    for (const database of this.#databases.splice(0)) await database.close()
  }
}

/** Opens stores on one file, each with its own connections. */
export function fileBeds(t: Test): Open {
  const file = freshFile()
  const copy = freshFile()
  const stores = new Stores(t, () => openFile(file, LOCAL))
  let restores = 0
  return async () => ({
    store: await stores.first(),
    another: () => stores.add(),
    goBack: {
      async remember() {
        await applyBaseline(stores.database)
        await stores.database.backup(copy)
      },
      async restore() {
        await stores.close()
        // The time is part of the name of the replaced file.
        restores += 1
        await restore(copy, file, new Date(Date.now() + restores * 1_000))
        return stores.add()
      }
    },
    close: () => stores.end()
  })
}

/** Opens stores in memory, which share one connection. */
export function memoryBeds(t: Test): Open {
  const stores = new Stores(t, openMemory)
  return async () => ({
    store: await stores.first(),
    another: () => stores.add('shared'),
    close: () => stores.end()
  })
}

/** Opens stores on a remote database, each with its own connections. */
export async function remoteBeds(t: Test): Promise<Open> {
  const server = await startHranaServer(freshFile(), 'token')
  t.teardown(() => server.close())
  const stores = new Stores(t, () => openRemote({ url: server.url, token: 'token', timeoutMs: 10_000 }))
  return async () => ({ store: await stores.first(), another: () => stores.add(), close: () => stores.end() })
}
