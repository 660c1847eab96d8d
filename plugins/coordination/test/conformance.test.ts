import type { Coordination, DatabaseStore } from '@svc/contracts'
import { type CoordinationBed, coordinationSuite } from '@svc/contracts/conformance'
import { openFile, openMemory } from '@svc/plugin-database/testing'
import t from 'tap'
import { DatabaseCoordination } from '#root'
import { freshFile } from './files.ts'

/** Opens stores, each on a database of its own if `open` opens a shared one. */
async function bed(open: () => Promise<DatabaseStore>, shared: boolean): Promise<CoordinationBed> {
  const databases: DatabaseStore[] = []
  const stores: DatabaseCoordination[] = []
  const another = async (): Promise<Coordination> => {
    const database = shared || databases[0] === undefined ? await open() : databases[0]
    if (!databases.includes(database)) databases.push(database)
    const store = new DatabaseCoordination(database)
    stores.push(store)
    return store
  }
  return {
    store: await another(),
    another,
    async close() {
      for (const store of stores) await store.close()
      for (const database of databases) await database.close()
    }
  }
}

t.test('a store in a file satisfies the contract', async t => {
  const open = () => {
    const file = freshFile()
    return bed(() => openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' }), true)
  }
  for (const { name, run } of coordinationSuite({ open })) await t.test(name, run)
})

t.test('a store in memory satisfies the contract', async t => {
  for (const { name, run } of coordinationSuite({ open: () => bed(openMemory, false) })) await t.test(name, run)
})
