import type { Coordination, DatabaseStore } from '@svc/contracts'
import type { CoordinationBed } from '@svc/contracts/conformance'
import { applyBaseline, openFile, openMemory, openRemote, restore } from '@svc/plugin-database/testing'
import { DatabaseCoordination } from '#root'
import { startHranaServer } from '../../database/test/hrana-server.ts'
import { freshFile } from './files.ts'

const LOCAL = { busyTimeoutMs: 10_000, synchronous: 'normal' } as const

/** Stores on databases that `open` opens, until `close`. */
class Stores {
  readonly #open: () => Promise<DatabaseStore>
  #databases: DatabaseStore[] = []
  #stores: DatabaseCoordination[] = []

  constructor(open: () => Promise<DatabaseStore>) {
    this.#open = open
  }

  get database(): DatabaseStore {
    return this.#databases[0] as DatabaseStore
  }

  /** Opens a store on its own connection, or on that of the first store. */
  async add(connection: 'own' | 'shared' = 'own'): Promise<Coordination> {
    if (connection === 'own') this.#databases.push(await this.#open())
    const store = new DatabaseCoordination(this.#databases.at(-1) as DatabaseStore)
    this.#stores.push(store)
    return store
  }

  async close(): Promise<void> {
    for (const store of this.#stores.splice(0)) await store.close()
    for (const database of this.#databases.splice(0)) await database.close()
  }
}

/** Stores on one file, each with its own connections. */
export async function fileBed(): Promise<CoordinationBed> {
  const file = freshFile()
  const copy = freshFile()
  const stores = new Stores(() => openFile(file, LOCAL))
  let restores = 0
  return {
    store: await stores.add(),
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
    close: () => stores.close()
  }
}

export async function memoryBed(): Promise<CoordinationBed> {
  const stores = new Stores(openMemory)
  return { store: await stores.add(), another: () => stores.add('shared'), close: () => stores.close() }
}

/** Stores on a remote database, each with its own connections. */
export async function remoteBed(): Promise<CoordinationBed> {
  const server = await startHranaServer(freshFile(), 'token')
  const stores = new Stores(() => openRemote({ url: server.url, token: 'token', timeoutMs: 10_000 }))
  return {
    store: await stores.add(),
    another: () => stores.add(),
    async close() {
      await stores.close()
      await server.close()
    }
  }
}
