import { execFileSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdirSync, writeFileSync } from 'node:fs'
import { open as openHandle, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { DatabaseStore } from '@svc/contracts'
import t from 'tap'
import { openFile, openMemory } from '#store'
import './built-worker.ts'
import { freshFile } from './files.ts'

const open = (file: string): Promise<DatabaseStore> => openFile(file, { busyTimeoutMs: 2_000, synchronous: 'normal' })
const CREATE = 'CREATE TABLE items (id INTEGER PRIMARY KEY, name)'
const INSERT = 'INSERT INTO items (name) VALUES (?)'

/** Mounts a small separate disk; null if this process may not mount one. */
function mountDisk(kibibytes: number): string | null {
  const folder = `${freshFile()}-disk`
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', ['-l', folder]))
  return folder
}

const smallDisk = mountDisk(512)
const readOnlyDisk = mountDisk(1_024)
const needsDisk = { skip: smallDisk === null || readOnlyDisk === null ? 'a disk cannot be mounted here' : false }

t.test('a full disk is reported, and acknowledged rows stay readable', needsDisk, async t => {
  const disk = smallDisk ?? ''
  const store = await open(join(disk, 'full.db'))
  await store.migrate(CREATE)
  const acknowledged: number[] = []
  let failure: { code?: string; message?: string } = {}
  for (let id = 1; id < 1_000; id += 1) {
    try {
      await store.execute(INSERT, [new Uint8Array(8_192)])
      acknowledged.push(id)
    } catch (error) {
      failure = error as typeof failure
      break
    }
  }
  t.match(failure, { code: 'DBS_FULL', message: /full\.db/ })
  const ids = async () => (await store.query('SELECT id FROM items ORDER BY id')).rows.map(([id]) => id)
  t.same(await ids(), acknowledged)
  await t.rejects(store.batch([{ sql: INSERT, parameters: [new Uint8Array(300_000)] }]), { code: 'DBS_FULL' })
  await t.rejects(
    store.transaction(async tx => {
      await tx.execute(INSERT, [new Uint8Array(300_000)]).catch(() => {})
      await tx.execute(INSERT, ['after'])
    }),
    { code: /DBS_(FULL|TRANSACTION_ENDED)/ },
    'a transaction is rolled back completely on a full disk'
  )
  t.same(await ids(), acknowledged)
  await t.rejects(store.backup(join(disk, 'copy.db')), { code: /DBS_(FULL|BACKUP_FAILED)/ })
  await t.rejects(stat(join(disk, 'copy.db')), { code: 'ENOENT' })
  await store.close()
  const again = await open(join(disk, 'full.db'))
  t.same((await again.query('SELECT count(*) FROM items')).rows, [[acknowledged.length]])
  await again.close()
})

t.test('a read-only disk is reported', needsDisk, async t => {
  const disk = readOnlyDisk ?? ''
  const file = join(disk, 'a.db')
  await (await open(file)).close()
  execFileSync('mount', ['-o', 'remount,ro', disk])
  await t.rejects(open(file), { code: /DBS_(READ_ONLY|OPEN_FAILED)/, message: /a\.db/ })
  await t.rejects(open(join(disk, 'b.db')), { code: /DBS_(READ_ONLY|OPEN_FAILED)/, message: /b\.db/ })
})

t.test('a path below a file instead of a folder is reported', async t => {
  const file = freshFile()
  writeFileSync(file, 'a file')
  await t.rejects(open(join(file, 'a.db')), { code: 'DBS_OPEN_FAILED', message: /a\.db/ })
})

t.test('a file that is not a database is not changed', async t => {
  const file = freshFile()
  const text = 'this is a letter, and not a database. '.repeat(200)
  writeFileSync(file, text)
  await t.rejects(open(file), { code: 'DBS_CORRUPT', message: /not a database/ })
  t.equal(await readFile(file, 'utf8'), text)
})

t.test('a damaged page is reported when it is read', async t => {
  const file = freshFile()
  const store = await open(file)
  await store.migrate(CREATE)
  await store.batch(Array.from({ length: 200 }, () => ({ sql: INSERT, parameters: ['x'.repeat(1_000)] })))
  await store.close()
  const handle = await openHandle(file, 'r+')
  const { size } = await handle.stat()
  for (let at = 8_192; at < size; at += 4_096) await handle.write(Buffer.alloc(64, 0xff), 0, 64, at)
  await handle.close()
  const damaged = await open(file)
  await t.rejects(damaged.query('SELECT count(name) FROM items'), { code: 'DBS_CORRUPT', hint: /svc db restore/ })
  await damaged.close()
})

/** Runs a function; returns its result and the threads that it started. */
async function threadsOf<A>(run: () => Promise<A>): Promise<{ result: A; workers: Worker[] }> {
  const workers: Worker[] = []
  const watch = (message: unknown): void => void workers.push((message as { worker: Worker }).worker)
  subscribe('worker_threads', watch)
  try {
    return { result: await run(), workers }
  } finally {
    unsubscribe('worker_threads', watch)
  }
}

/** Slow statement; its parameter sets the duration. */
const COUNT_TO = `INSERT INTO items (name)
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT max(i) FROM n`

t.test('calls of a dead thread fail, and a new thread serves the next ones', async t => {
  const file = freshFile()
  const { result: store, workers } = await threadsOf(() => open(file))
  await store.migrate(CREATE)
  // Prepared before the thread ends: the binding crashes the process if it prepares a statement in an ending thread.
  await store.execute(COUNT_TO, [1])
  await store.execute('DELETE FROM items')
  await store.execute(INSERT, ['a'])
  const slow = store.execute(COUNT_TO, [3_000_000])
  const lost = t.rejects(slow, { code: 'DBS_LOST' })
  await new Promise<void>(resolve => setImmediate(resolve))
  await workers[0]?.terminate()
  await lost
  await store.execute(INSERT, ['b'])
  t.same((await store.query('SELECT name FROM items ORDER BY id')).rows, [['a'], ['b']])
  await store.close()
})

t.test('a transaction of a dead thread does not continue on a new one', async t => {
  const file = freshFile()
  const { result: store, workers } = await threadsOf(() => open(file))
  await store.migrate(CREATE)
  await t.rejects(
    store.transaction(async tx => {
      await tx.execute(INSERT, ['a'])
      await workers[0]?.terminate()
      await tx.execute(INSERT, ['b'])
    }),
    { code: 'DBS_LOST' }
  )
  t.same((await store.query('SELECT name FROM items')).rows, [])
  await store.close()
})

t.test('a database in memory is reported as lost with its thread', async t => {
  const { result: store, workers } = await threadsOf(openMemory)
  await store.migrate(CREATE)
  await workers[0]?.terminate()
  await t.rejects(store.query('SELECT * FROM items'), { code: 'DBS_LOST', message: /lost/ })
  await t.rejects(store.query('SELECT 1'), { code: 'DBS_LOST' })
  await store.close()
})

t.test('a conflict that rolls back the whole transaction ends it', async t => {
  const store = await open(freshFile())
  await store.migrate('CREATE TABLE items (id INTEGER PRIMARY KEY, name UNIQUE)')
  await t.rejects(
    store.transaction(async tx => {
      await tx.execute(INSERT, ['a'])
      await tx.execute("INSERT OR ROLLBACK INTO items (name) VALUES ('a')").catch(() => {})
      await tx.execute(INSERT, ['b'])
    }),
    { code: 'DBS_TRANSACTION_ENDED' }
  )
  const outcomes = await Promise.allSettled([
    store.execute(INSERT, ['c']),
    store.execute("INSERT OR ROLLBACK INTO items (name) VALUES ('c')"),
    store.execute(INSERT, ['d'])
  ])
  t.same(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled']
  )
  t.same((await store.query('SELECT name FROM items ORDER BY name')).rows, [['c'], ['d']])
  await store.close()
})

t.test('a failed backup leaves no file at its path', async t => {
  const store = await open(freshFile())
  await store.migrate(CREATE)
  const file = join(dirname(freshFile()), 'no-such-folder', 'copy.db')
  await t.rejects(store.backup(file), { code: 'DBS_BACKUP_FAILED', message: /no-such-folder/ })
  await store.close()
})
