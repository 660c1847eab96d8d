import './built-worker.ts'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { ThreadAccess } from '@svc/contracts'
import t from 'tap'
import { openFile, openMemory } from '#store'
import { FileConnection } from '#thread'
import { LibsqlEngine } from '#worker'
import { freshFile } from './files.ts'

const options = { busyTimeoutMs: 2000, synchronous: 'normal' } as const

function connect(file: string, busyTimeoutMs = 2000): FileConnection {
  return new FileConnection({ ...options, file, busyTimeoutMs })
}

function table(connection: FileConnection): FileConnection {
  connection.execute('CREATE TABLE t (_id INTEGER PRIMARY KEY, a, b)')
  return connection
}

/** Runs a function in a thread. Its arguments are a connection, and a port to this thread. */
function inThread({ module, options }: ThreadAccess, run: string): Worker {
  const code = `
    const { parentPort, workerData: { module, options } } = require('node:worker_threads')
    ;(${run})(require(module).connect(options), parentPort)`
  return new Worker(code, { eval: true, execArgv: [], workerData: { module, options } })
}

t.test('query, rows and row return values unchanged', async t => {
  const connection = table(connect(freshFile()))
  t.teardown(() => connection.close())
  const values = [null, 1, -0.5, 2n ** 62n, 'a "quoted" \u{1F600}', new Uint8Array([0, 255]), 1e300]
  for (const value of values) {
    const { lastInsertId, changes } = connection.execute('INSERT INTO t (a) VALUES (?)', [value])
    t.equal(changes, 1)
    t.same(connection.row('SELECT a FROM t WHERE _id = ?', [lastInsertId as number]), [value])
  }
  const result = connection.query('SELECT _id, a FROM t ORDER BY _id')
  t.same(result.columns, ['_id', 'a'])
  t.same(connection.rows('SELECT _id, a FROM t ORDER BY _id'), result.rows)
  t.equal(connection.row('SELECT a FROM t WHERE _id = 1000'), null)
})

t.test('reads cannot write, and the read connection is read-only', async t => {
  const connection = table(connect(freshFile()))
  t.teardown(() => connection.close())
  t.throws(() => connection.query('DELETE FROM t'), { code: 'DBS_READ_ONLY' })
  connection.begin('read')
  t.throws(() => connection.execute('DELETE FROM t'), { code: 'DBS_READ_ONLY' })
  t.throws(() => connection.begin('read'), { code: 'DBS_NESTED' })
  connection.rollback()
  t.equal(connection.inTransaction, false)
  connection.rollback()
})

t.test('a read transaction sees one snapshot; other connections see only committed rows', async t => {
  const file = freshFile()
  const [one, two] = [table(connect(file)), connect(file)]
  t.teardown(() => [one, two].map(each => each.close()))
  const count = (connection: FileConnection) => connection.row('SELECT count(*) FROM t')?.[0]
  two.begin('read')
  t.equal(count(two), 0)
  one.begin('write')
  one.execute('INSERT INTO t (a) VALUES (1)')
  t.equal(count(one), 1)
  one.commit()
  t.equal(count(two), 0, 'the read transaction sees the snapshot of its first read')
  two.commit()
  t.equal(count(two), 1)
  one.begin('write')
  one.execute('INSERT INTO t (a) VALUES (2)')
  t.equal(count(two), 1)
  one.rollback()
  t.equal(count(one), 1)
})

t.test(
  'a failed statement rolls back only itself; a rolled back transaction accepts no further statements',
  async t => {
    const connection = connect(freshFile())
    t.teardown(() => connection.close())
    connection.execute('CREATE TABLE u (a UNIQUE)')
    connection.begin('write')
    connection.execute('INSERT INTO u VALUES (1)')
    t.throws(() => connection.execute('INSERT INTO u VALUES (1)'), { code: 'DBS_CONSTRAINT' })
    connection.execute('INSERT INTO u VALUES (2)')
    t.throws(() => connection.execute('INSERT OR ROLLBACK INTO u VALUES (2)'), { code: 'DBS_CONSTRAINT' })
    t.throws(() => connection.execute('INSERT INTO u VALUES (3)'), { code: 'DBS_TRANSACTION_ENDED' })
    t.throws(() => connection.commit(), { code: 'DBS_TRANSACTION_ENDED' })
    t.same(connection.rows('SELECT a FROM u'), [])
  }
)

t.test('a transaction that need not be durable is one until its end, also after a failure', async t => {
  const file = freshFile()
  const [one, two] = [table(new FileConnection({ file, busyTimeoutMs: 20, synchronous: 'full' })), connect(file)]
  t.teardown(() => [one, two].map(each => each.close()))
  const synchronous = (begin: () => void, end: () => void): unknown => {
    begin()
    const found = one.query('PRAGMA synchronous').rows[0]?.[0]
    end()
    return found
  }
  const relaxed = (): void => one.begin('write', { isDurable: false })
  const durable = (): void => one.begin('write')
  for (const end of [() => one.commit(), () => one.rollback()]) {
    t.equal(synchronous(relaxed, end), 1)
    t.equal(synchronous(durable, end), 2)
  }
  two.begin('write')
  t.throws(relaxed, { code: 'DBS_BUSY' })
  two.rollback()
  t.equal(
    synchronous(durable, () => one.rollback()),
    2
  )
  relaxed()
  one.execute('INSERT INTO t (a) VALUES (1)')
  one.commit()
  t.equal(two.row('SELECT count(*) FROM t')?.[0], 1)
})

t.test('a writer waits for the lock, and fails at the time limit', async t => {
  const file = freshFile()
  const holder = table(connect(file))
  const waiting = connect(file, 30)
  t.teardown(() => [holder, waiting].map(each => each.close()))
  holder.begin('write')
  t.throws(() => waiting.execute('INSERT INTO t (a) VALUES (1)'), { code: 'DBS_BUSY' })
  holder.rollback()
  // The failed write has no effect, and the next one is committed.
  waiting.execute('INSERT INTO t (a) VALUES (2)')
  t.same(holder.rows('SELECT a FROM t'), [[2]])
})

t.test('threads open their own connections, which share the write lock with the store', async t => {
  const store = await openFile(freshFile(), options)
  t.teardown(() => store.close())
  await store.execute('CREATE TABLE t (_id INTEGER PRIMARY KEY, a)')
  const access = (await store.threadAccess()) as ThreadAccess
  const write = "connection => { for (let i = 0; i < 50; i++) connection.execute('INSERT INTO t (a) VALUES (?)', [i]) }"
  const threads = [inThread(access, write), inThread(access, write)]
  const ends = threads.map(worker => once(worker, 'exit'))
  for (let i = 0; i < 50; i++) await store.execute('INSERT INTO t (a) VALUES (?)', [i])
  await Promise.all(ends)
  t.same((await store.query('SELECT count(*) FROM t')).rows, [[150]])
})

t.test('a thread that is terminated during a transaction releases the lock', async t => {
  const store = await openFile(freshFile(), options)
  t.teardown(() => store.close())
  await store.execute('CREATE TABLE t (_id INTEGER PRIMARY KEY, a)')
  const worker = inThread(
    (await store.threadAccess()) as ThreadAccess,
    `(connection, port) => {
      connection.begin('write')
      connection.execute('INSERT INTO t (a) VALUES (1)')
      port.postMessage('writes')
      for (;;) {}
    }`
  )
  await once(worker, 'message')
  await worker.terminate()
  await store.execute('INSERT INTO t (a) VALUES (2)')
  t.same((await store.query('SELECT a FROM t')).rows, [[2]])
})

t.test('an in-memory database has no access for threads', async t => {
  const store = await openMemory()
  t.teardown(() => store.close())
  t.equal(await store.threadAccess(), null)
})

t.test('a closed engine is in no transaction, and is closed twice without effect', t => {
  const place = {
    engine: 'libsql',
    file: freshFile(),
    busyTimeoutMs: 100,
    synchronous: 'full',
    readOnly: false
  } as const
  const engine = new LibsqlEngine(place)
  engine.exec('BEGIN')
  t.equal(engine.inTransaction, true)
  engine.close()
  t.equal(engine.inTransaction, false)
  engine.close()
  t.throws(() => engine.exec('SELECT 1'))
  t.end()
})
