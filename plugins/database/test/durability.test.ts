import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { DatabaseStore } from '@svc/contracts'
import t from 'tap'
import { openFile } from '#store'
import './built-worker.ts'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { freshFile } from './files.ts'

interface Writer {
  readonly child: ChildProcessByStdio<null, Readable, null>
  /** Acknowledged rows. */
  readonly rows: Set<string>
  /** Resolves with the next matching line. */
  until(passes: (line: string, rows: ReadonlySet<string>) => boolean): Promise<void>
}

function startWriter(...args: readonly (string | number)[]): Writer {
  const script = join(import.meta.dirname, 'writer-child.ts')
  const flags = [...CHILD_ARGUMENTS]
  const child = spawn(process.execPath, [...flags, script, ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const rows = new Set<string>()
  const waiting = new Set<(line: string) => void>()
  createInterface(child.stdout).on('line', line => {
    if (line !== 'ready' && line !== 'busy') rows.add(line)
    for (const look of waiting) look(line)
  })
  const until: Writer['until'] = passes =>
    new Promise(resolve => {
      const look = (line: string): void => {
        if (!passes(line, rows)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
    })
  return { child, rows, until }
}

const open = (file: string): Promise<DatabaseStore> => openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })

async function emptyTable(): Promise<{ file: string; store: DatabaseStore }> {
  const file = freshFile()
  const store = await open(file)
  await store.migrate('CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)')
  return { file, store }
}

async function namesIn(store: DatabaseStore): Promise<Set<string>> {
  return new Set((await store.query('SELECT name FROM items')).rows.map(([name]) => String(name)))
}

async function kill({ child }: Writer): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

const missing = (rows: Iterable<string>, from: ReadonlySet<string>): string[] => [...rows].filter(row => !from.has(row))

t.test('acknowledged rows survive when the process is killed', async t => {
  const { file, store } = await emptyTable()
  await store.close()
  const writer = startWriter(file, 'a', 100_000)
  await writer.until((_, rows) => rows.size >= 400)
  await kill(writer)
  const again = await open(file)
  t.same(missing(writer.rows, await namesIn(again)), [])
  t.same((await again.query('PRAGMA integrity_check')).rows, [['ok']])
  await again.close()
})

t.test('a writer that waited for a lock loses no acknowledged rows', async t => {
  const { file, store } = await emptyTable()
  const writer = startWriter(file, 'a', 100_000, 20)
  await writer.until(line => line === 'a8')
  await store.transaction(async tx => {
    await tx.execute("INSERT INTO items (name) VALUES ('mine')")
    await writer.until(line => line === 'busy')
  })
  const before = writer.rows.size
  await writer.until((_, rows) => rows.size >= before + 100)
  await kill(writer)
  const names = await namesIn(store)
  t.same(missing(writer.rows, names), [])
  t.ok(names.has('mine'))
  await store.close()
})

t.test('several processes write one file without losing rows', async t => {
  const { file, store } = await emptyTable()
  const writers = ['a', 'b', 'c'].map(prefix => startWriter(file, prefix, 96, 10_000))
  const mine = Promise.all(
    Array.from({ length: 96 }, (_, at) => store.execute('INSERT INTO items (name) VALUES (?)', [`m${at}`]))
  )
  const codes = await Promise.all(writers.map(async ({ child }) => (await once(child, 'exit'))[0]))
  await mine
  t.same(codes, [0, 0, 0])
  const names = await namesIn(store)
  t.equal(names.size, 4 * 96)
  for (const { rows } of writers) t.same(missing(rows, names), [])
  await store.close()
})

t.test('writes wait for an open transaction and are not part of it', async t => {
  const { store } = await emptyTable()
  let written = false
  const beside: Promise<unknown>[] = []
  await store.transaction(async tx => {
    await tx.execute("INSERT INTO items (name) VALUES ('first')")
    await new Promise<void>(resolve => setImmediate(resolve))
    t.notOk(written)
  })
  for (let at = 0; at < 100; at += 1)
    beside.push(store.execute('INSERT INTO items (name) VALUES (?)', [`b${at}`]).then(() => (written = true)))
  await Promise.all(beside)
  t.equal((await namesIn(store)).size, 101)
  await store.close()
})

t.test('neither a long query nor a lock of another process blocks the event loop', async t => {
  const { file, store } = await emptyTable()
  let ticks = 0
  const timer = setInterval(() => (ticks += 1), 1)
  const counted = await store.query(
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) FROM n'
  )
  t.same(counted.rows, [[300_000]])
  t.ok(ticks > 0, 'the event loop runs during the query')
  const other = await open(file)
  let waited: Promise<unknown> | undefined
  await other.transaction(async tx => {
    await tx.execute("INSERT INTO items (name) VALUES ('a')")
    waited = store.execute("INSERT INTO items (name) VALUES ('b')")
    const before = ticks
    while (ticks < before + 3) await new Promise<void>(resolve => setTimeout(resolve, 1))
  })
  await waited
  clearInterval(timer)
  t.same([...(await namesIn(store))], ['a', 'b'])
  await Promise.all([other.close(), store.close()])
})

t.test('queries see committed rows during an open transaction, and do not wait for it', async t => {
  const { store } = await emptyTable()
  let start = (): void => {}
  const started = new Promise<void>(resolve => {
    start = resolve
  })
  let end = (): void => {}
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  const transaction = store.transaction(async tx => {
    await tx.execute("INSERT INTO items (name) VALUES ('a')")
    start()
    await ended
  })
  await started
  t.equal((await namesIn(store)).size, 0)
  end()
  await transaction
  t.equal((await namesIn(store)).size, 1)
  await store.close()
})
