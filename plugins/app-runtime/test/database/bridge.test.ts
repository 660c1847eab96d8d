import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { openMemory } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import type { DatabaseAccess } from '#database'
import { migrateSchema } from '#schema'
import type { TestResult } from '#testing'
import { type Job, runInThread, type ThreadResult } from '#worker'
import { LIMITS, programFrom } from '../run-program.ts'

const ACCESS: DatabaseAccess = { thread: null, location: ':memory:', capabilities: { fts: false, vector: false } }

const NO_BINDING = `exports.connect = () => {
  throw Object.assign(new Error('no binding'), { '~svc': 'error', code: 'DBS_NO_BINDING', status: 501 })
}`

const PROGRAM = `
@table
type Item { name: str  size: int }
fn add(name: str) to int { db.Item.insert({ name: name, size: len(name) }) }
`

interface Ran {
  readonly ending: ThreadResult
  readonly lines: readonly string[]
  readonly tests: readonly TestResult[]
  readonly failures: readonly unknown[]
}

interface Circumstances {
  readonly work?: Job['work']
  readonly access?: DatabaseAccess
  /** The output line at which the thread is ended. */
  readonly endAt?: string
}

/** Runs a program in a thread that has no connection, and uses that of the main thread. */
async function ran(
  text: string,
  store: DatabaseStore,
  { work = { kind: 'run' }, access = ACCESS, endAt }: Circumstances = {}
): Promise<Ran> {
  const lines: string[] = []
  const tests: TestResult[] = []
  const failures: unknown[] = []
  const abort = new AbortController()
  const ending = await runInThread(
    {
      program: programFrom(text),
      limits: { ...LIMITS, steps: 1e12, milliseconds: 60_000 },
      capabilities: [],
      seed: null,
      args: [],
      work,
      database: access
    },
    {
      print(line) {
        lines.push(line)
        if (line === endAt) abort.abort()
      },
      report: message => void (message.kind === 'test' && tests.push(message.result)),
      failed: error => failures.push(error)
    },
    abort.signal,
    async () => store
  )
  return { ending, lines, tests, failures }
}

async function memory(t: Test, text: string): Promise<DatabaseStore> {
  const store = await openMemory()
  t.teardown(() => store.close())
  await migrateSchema(store, programFrom(text), { projectRoot: import.meta.dirname })
  return store
}

t.test('a program uses a database of the main thread', async t => {
  const text = `${PROGRAM}fn main() {
    print(add("a"), add("bc"), db.Item.count())
    db.Item.update(1, { name: "A" })
    print(db.Item.where({ size: { gt: 0 } }).order_by("name", "desc"))
    print(db.Item.get(9), db.query("SELECT max(size) AS most FROM item"))
    match db.query("SELECT missing") { Ok(_) => print("?"), Error(why) => print(why) }
}`
  const store = await memory(t, text)
  const { ending, lines } = await ran(text, store)
  t.same(ending, { ok: true, outcome: { refused: null, exit: null } })
  t.same(lines, [
    '1 2 2',
    '[{_id: 2, name: bc, size: 2}, {_id: 1, name: A, size: 1}]',
    'None [{most: 2}]',
    'the database: no such column: missing (line 1, column 8 of the statement)'
  ])
  t.same((await store.query('SELECT name FROM item ORDER BY _id')).rows, [['A'], ['bc']])
})

t.test('the changes of a test are rolled back before the next one', async t => {
  const text = `${PROGRAM}
@test
fn first() { assert(add("a") is 1) }
@test
fn second() {
    assert(db.Item.count() is 0)
    assert(add("b") is 1)
    panic("enough")
}
@test
fn third() { assert(db.Item.all() is []) }`
  const store = await openMemory()
  t.teardown(() => store.close())
  const names = ['first', 'second', 'third']
  const { tests, failures } = await ran(text, store, { work: { kind: 'test', names, iterations: 1, seed: 1 } })
  t.same(
    tests.map(({ name, ok, failure }) => [name, ok, failure?.code]),
    [
      ['first', true, undefined],
      ['second', false, 'RUN_PANIC'],
      ['third', true, undefined]
    ]
  )
  t.same(failures, [])
  t.same((await store.query('SELECT count(*) FROM item')).rows, [[0]])
})

t.test('a thread that ends in a transaction leaves no changes, and blocks no others', async t => {
  const text = `${PROGRAM}
@test
fn forever() {
    add("x")
    print("added")
    while true { add("x") }
}`
  const store = await openMemory()
  t.teardown(() => store.close())
  const work = { kind: 'test', names: ['forever'], iterations: 1, seed: 1 } as const
  const { ending } = await ran(text, store, { work, endAt: 'added' })
  t.match(ending, { ok: false, failure: { code: 'RUN_CANCELLED' } })
  t.same((await store.query('SELECT count(*) FROM item')).rows, [[0]])
  await store.execute("INSERT INTO item (name, size) VALUES ('y', 1)")
  t.same((await store.query('SELECT name FROM item')).rows, [['y']])
})

t.test('writers of a thread and of the main thread are serialised', async t => {
  const text = `${PROGRAM}fn main() {
    let mut i = 0
    while i < 50 {
        add("x")
        i += 1
    }
}`
  const store = await memory(t, text)
  const running = ran(text, store)
  for (let i = 0; i < 50; i++) await store.execute("INSERT INTO item (name, size) VALUES ('y', 1)")
  t.equal((await running).ending.ok, true)
  t.same((await store.query('SELECT name, count(*) FROM item GROUP BY name')).rows, [
    ['x', 50],
    ['y', 50]
  ])
})

t.test('tests use a database of the main thread if a thread cannot open one', async t => {
  const module = join(t.testdir({ 'connect.cjs': NO_BINDING }), 'connect.cjs')
  const text = `${PROGRAM}
@search_index Item.words on (name)
@test
fn adds() { assert(add("a") is 1) }
@test
fn searches() { db.Item.where({ name: { contains: "a" } }).using("fts") }`
  const store = await openMemory()
  t.teardown(() => store.close())
  const access = { ...ACCESS, thread: { module, options: null }, capabilities: { fts: true, vector: true } }
  const work = { kind: 'test', names: ['adds', 'searches'], iterations: 1, seed: 1 } as const
  const { tests } = await ran(text, store, { work, access })
  t.same(
    tests.map(({ failure }) => failure?.code ?? null),
    [null, 'RUN_UNSUPPORTED']
  )
})
