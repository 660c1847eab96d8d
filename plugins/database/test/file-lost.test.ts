import './built-worker.ts'
import assert from 'node:assert/strict'
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type HttpServer, httpServer } from '@svc/contracts'
import http from '@svc/plugin-http'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import database from '#plugin'
import { databaseStatus } from '#root'
import { openFile } from '#store'
import { FileConnection } from '#thread'
import { LibsqlEngine } from '#worker'
import { freshFile } from './files.ts'

const options = { busyTimeoutMs: 2_000, synchronous: 'normal' } as const
const INSERT = 'INSERT INTO items (name) VALUES (?)'

async function emptyTable(): Promise<{ file: string; store: Awaited<ReturnType<typeof openFile>> }> {
  const file = join(`${freshFile()}-folder`, 'store.db')
  mkdirSync(dirname(file))
  const store = await openFile(file, options)
  await store.migrate('CREATE TABLE items (id INTEGER PRIMARY KEY, name)')
  return { file, store }
}

const engineOf = (file: string) => new LibsqlEngine({ ...options, engine: 'libsql', file, readOnly: false })

/** Runs a checkpoint of the write-ahead log. */
function checkpoint(file: string): void {
  const engine = engineOf(file)
  engine.exec('PRAGMA wal_checkpoint(PASSIVE)')
  engine.close()
}

/** Ways in which the next process would no longer find the open file, by name. */
const LOSSES: Readonly<Record<string, (file: string) => void>> = {
  'removed with its folder': file => rmSync(dirname(file), { recursive: true }),
  'removed without its write-ahead log': file => rmSync(file),
  'left without its write-ahead log': file => rmSync(`${file}-wal`),
  'moved away': file => renameSync(file, `${file}.moved`),
  'replaced by a copy of itself': file => {
    copyFileSync(file, `${file}.copy`)
    renameSync(`${file}.copy`, file)
  },
  truncated: file => truncateSync(file, 0),
  'overwritten with text': file => writeFileSync(file, 'a letter, and not a database'),
  'overwritten with a smaller database': file => {
    const engine = engineOf(`${file}.other`)
    engine.exec('CREATE TABLE items (id INTEGER PRIMARY KEY, name)')
    engine.close()
    copyFileSync(`${file}.other`, file)
  },
  'overwritten with zeros in its first page': file => {
    const handle = openSync(file, 'r+')
    writeSync(handle, Buffer.alloc(4_096), 0, 4_096, 0)
    closeSync(handle)
  },
  'overwritten with another database of the same size': file => {
    const engine = engineOf(`${file}.other`)
    engine.exec('PRAGMA journal_mode = WAL; CREATE TABLE items (id INTEGER PRIMARY KEY, name)')
    engine.run({ sql: INSERT, values: ['others'.repeat(4_000)], verb: 'INSERT' })
    engine.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    engine.close()
    assert.equal(statSync(`${file}.other`).size, statSync(file).size)
    copyFileSync(`${file}.other`, file)
  }
}

for (const [name, lose] of Object.entries(LOSSES)) {
  t.test(`no change is acknowledged after the file was ${name}`, async t => {
    const { file, store } = await emptyTable()
    await store.execute(INSERT, ['before'.repeat(4_000)])
    checkpoint(file)
    lose(file)
    const writes: readonly (() => Promise<unknown>)[] = [
      () => store.execute(INSERT, ['a']),
      () => store.batch([{ sql: INSERT, parameters: ['b'] }]),
      () => store.transaction(tx => tx.execute(INSERT, ['c'])),
      () => store.migrate('CREATE TABLE more (id INTEGER PRIMARY KEY)')
    ]
    for (const write of writes) await t.rejects(write(), { code: 'DBS_FILE_LOST', hint: /restart/ })
    const group = await Promise.allSettled(Array.from({ length: 20 }, (_, at) => store.execute(INSERT, [at])))
    t.same(
      [...new Set(group.map(each => (each.status === 'rejected' ? each.reason.code : 'acknowledged')))],
      ['DBS_FILE_LOST']
    )
    await store.close()
  })

  t.test(`no change by a thread is acknowledged after the file was ${name}`, async t => {
    const file = join(`${freshFile()}-folder`, 'store.db')
    mkdirSync(dirname(file))
    const connection = new FileConnection({ ...options, file })
    connection.execute('CREATE TABLE items (id INTEGER PRIMARY KEY, name)')
    connection.execute(INSERT, ['before'.repeat(4_000)])
    checkpoint(file)
    lose(file)
    t.throws(() => connection.execute(INSERT, ['a']), { code: 'DBS_FILE_LOST' })
    const writeTwice = (): void => {
      connection.begin('write')
      connection.execute(INSERT, ['b'])
      connection.commit()
    }
    t.throws(writeTwice, { code: 'DBS_FILE_LOST' })
    connection.rollback()
    t.notOk(connection.inTransaction)
    connection.close()
  })
}

t.test('no change is acknowledged after the file was overwritten with an earlier copy of itself', async t => {
  const { file, store } = await emptyTable()
  await store.execute(INSERT, ['first'])
  checkpoint(file)
  copyFileSync(file, `${file}.earlier`)
  await store.execute(INSERT, ['second'])
  checkpoint(file)
  t.equal(statSync(`${file}.earlier`).size, statSync(file).size)
  copyFileSync(`${file}.earlier`, file)
  await t.rejects(store.execute(INSERT, ['third']), { code: 'DBS_FILE_LOST' })
  await t.rejects(store.verify(), { code: 'DBS_FILE_LOST' })
  await store.close()
})

t.test('checkpoints of other connections do not count as a foreign file', async t => {
  const { file, store } = await emptyTable()
  for (let at = 0; at < 50; at += 1) {
    await store.execute(INSERT, [at])
    checkpoint(file)
    await store.verify()
  }
  t.same((await store.query('SELECT count(*) FROM items')).rows, [[50]])
  await store.close()
})

t.test('a restored file accepts changes again', async t => {
  const { file, store } = await emptyTable()
  renameSync(file, `${file}.moved`)
  await t.rejects(store.execute(INSERT, ['a']), { code: 'DBS_FILE_LOST' })
  renameSync(`${file}.moved`, file)
  await store.execute(INSERT, ['b'])
  t.same((await store.query('SELECT name FROM items')).rows, [['b']])
  await store.close()
})

t.test('a file that VACUUM shrinks is not reported as lost', async t => {
  const { file, store } = await emptyTable()
  for (let at = 0; at < 20; at += 1) await store.execute(INSERT, [new Uint8Array(100_000)])
  checkpoint(file)
  const other = engineOf(file)
  await store.execute('DELETE FROM items')
  const before = statSync(file).size
  other.exec('VACUUM; PRAGMA wal_checkpoint(PASSIVE)')
  other.close()
  t.ok(statSync(file).size < before)
  await store.execute(INSERT, ['after'])
  t.same((await store.query('SELECT name FROM items')).rows, [['after']])
  await store.close()
})

t.test('queries do not create a new file in place of a removed one', async t => {
  const { file, store } = await emptyTable()
  rmSync(dirname(file), { recursive: true })
  mkdirSync(dirname(file))
  // The thread for queries opens the file at its first query.
  await t.rejects(store.query('SELECT * FROM items'), { code: 'DBS_FILE_LOST' })
  t.same(readdirSync(dirname(file)), [])
  await store.close()
})

t.test('/ready and the status report a lost file', async t => {
  let server: { readonly current: HttpServer } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer) },
    activate(_ctx, deps) {
      server = deps.server
    }
  })
  const kernel = await testKernel([http as Plugin, database, probe], { settings: { http: { port: 0 } } })
  t.teardown(() => kernel.close())
  const ready = () => fetch(`${server?.current.addresses[0]?.url}/ready`)
  const { location } = await kernel.call(databaseStatus, {})
  t.equal((await ready()).status, 200)
  rmSync(dirname(location), { recursive: true })
  const lost = await ready()
  t.equal(lost.status, 503)
  t.match(await lost.json(), { checks: [{ name: 'database', ok: false, detail: /was removed while it was open/ }] })
  t.match(await kernel.call(databaseStatus, {}), { healthy: false, text: /was removed while it was open/ })
})
