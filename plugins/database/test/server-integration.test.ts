// Runs against a real server, and drops the tables of the conformance suite there.
import type { DatabaseStore } from '@svc/contracts'
import { databaseStoreSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { openRemote, openReplica } from '#remote'
import './built-worker.ts'
import { freshFile } from './files.ts'

const { SVC_DB_URL: url = '', SVC_DB_TOKEN: token = '' } = process.env
const missing = url === '' || token === '' ? 'SVC_DB_URL and SVC_DB_TOKEN are not set' : false
const unless = (variable: string): { skip: string | false } => ({
  skip: process.env[variable] === '1' ? missing : `${variable} is not 1`
})

// Each test opens the replica again, which downloads the database.
t.setTimeout(300_000)

/** Drops the tables of the suite and returns the store. */
async function emptied(store: DatabaseStore): Promise<DatabaseStore> {
  for (const table of ['parts', 'more', 'texts', 'items']) await store.execute(`DROP TABLE IF EXISTS ${table}`)
  return store
}

t.test('a remote database satisfies the contract of a store', unless('SVC_DB_SYNC_INTEGRATION'), async t => {
  const open = async () => emptied(await openRemote({ url, token, timeoutMs: 10_000 }))
  for (const { name, run } of databaseStoreSuite({ open, freshFile })) await t.test(name, run)
})

t.test('a replica of a remote database', unless('SVC_DB_EMBEDDED_REPLICA_INTEGRATION'), async t => {
  const open = (file = freshFile()) => openReplica({ file, url, token, busyTimeoutMs: 5_000, timeoutMs: 10_000 })

  await t.test('a replica satisfies the contract of a store', async t => {
    for (const { name, run } of databaseStoreSuite({ open: async () => emptied(await open()), freshFile }))
      await t.test(name, run)
  })

  await t.test('a replica has its own writes, and those of others after a sync', async t => {
    const remote = await emptied(await openRemote({ url, token, timeoutMs: 10_000 }))
    await remote.migrate('CREATE TABLE items (name)')
    const copy = await open()
    t.equal((await copy.capabilities()).replica, true)
    await copy.execute("INSERT INTO items VALUES ('mine')")
    t.same((await copy.query('SELECT name FROM items')).rows, [['mine']])
    t.same((await remote.query('SELECT name FROM items')).rows, [['mine']])
    await remote.execute("INSERT INTO items VALUES ('theirs')")
    await copy.sync()
    t.same((await copy.query('SELECT name FROM items ORDER BY name')).rows, [['mine'], ['theirs']])
    await Promise.all([remote.close(), copy.close()])
  })
})
