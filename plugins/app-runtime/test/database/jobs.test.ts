import { dirname } from 'node:path'
import { PrimaryStore } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import { openJobDatabase } from '#database'
import type { Limits } from '#interpreter'
import type { TestResult } from '#testing'
import { type RunWork, runInThread, type TestWork } from '#worker'
import { LIMITS, programFrom } from '../run-program.ts'
import { freshFile } from './with-tables.ts'

const COUNTER = `
@table
type Hit { at: int }
fn main() {
    match db.Hit.insert({ at: 1 }) { Ok(id) => print(id), Error(why) => print(why) }
    print(db.Hit.count())
}
@test
fn counts() {
    main()
    assert(db.Hit.count() is 1)
}
@forall
fn again(at: int) {
    assert(db.Hit.insert({ at: at }) is 1)
}`

function primaryStore(t: Test): PrimaryStore {
  const file = freshFile()
  const store = new PrimaryStore({
    place: { mode: 'file', file, fallback: null },
    projectRoot: dirname(file),
    breaker: null,
    busyTimeoutMs: 2_000,
    synchronous: 'normal',
    remoteTimeoutMs: 2_000,
    backups: dirname(file),
    warn: () => undefined,
    signal: new AbortController().signal
  })
  t.teardown(() => store.close())
  return store
}

async function execute(
  store: PrimaryStore,
  text: string,
  work: RunWork | TestWork = { kind: 'run' },
  place?: string,
  limits: Partial<Limits> = {}
) {
  const program = programFrom(text)
  const lines: string[] = []
  const tests: TestResult[] = []
  const {
    access,
    store: answering,
    close
  } = await openJobDatabase(program, work.kind, store, import.meta.dirname, place)
  const ending = await runInThread(
    { program, limits: { ...LIMITS, ...limits }, capabilities: [], seed: null, args: [], work, database: access },
    {
      print: line => void lines.push(line),
      report: message => void (message.kind === 'test' && tests.push(message.result)),
      failed: error => lines.push(String(error))
    },
    new AbortController().signal,
    answering
  ).finally(close)
  return { ending, lines, tests }
}

t.test('a program uses the database of the project, and finds its earlier rows there', async t => {
  const store = primaryStore(t)
  t.same((await execute(store, COUNTER)).lines, ['1', '1'])
  t.same((await execute(store, COUNTER)).lines, ['2', '2'])
  t.same((await store.query('SELECT count(*) FROM hit')).rows, [[2]])
})

t.test('a program can use another database by name', async t => {
  const store = primaryStore(t)
  t.same((await execute(store, COUNTER, { kind: 'run' }, 'memory')).lines, ['1', '1'])
  t.same((await execute(store, COUNTER, { kind: 'run' }, 'other.db')).lines, ['1', '1'])
  t.same((await execute(store, COUNTER, { kind: 'run' }, 'other.db')).lines, ['2', '2'])
  await t.rejects(store.query('SELECT * FROM hit'), { code: 'DBS_SYNTAX' })
})

t.test(
  'each test and each @forall value starts with empty tables, and the project database does not change',
  async t => {
    const store = primaryStore(t)
    await execute(store, COUNTER)
    const work = { kind: 'test', names: ['counts', 'again'], iterations: 20, seed: 1 } as const
    const { tests } = await execute(store, COUNTER, work)
    t.same(
      tests.map(({ ok, runs, failure }) => ({ ok, runs, failure })),
      [
        { ok: true, runs: 1, failure: null },
        { ok: true, runs: 20, failure: null }
      ]
    )
    t.same((await store.query('SELECT count(*) FROM hit')).rows, [[1]])
  }
)

t.test('a test with endless SQL fails, and later tests start with empty tables', async t => {
  const sql = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n'
  const source = `${COUNTER}
@test
fn endless() {
    db.Hit.insert({ at: 1 })
    assert(len(db.query("${sql}")) is 1)
}
@test
fn spins() { while true { } }
@test
fn last() { main() }`
  const work = { kind: 'test', names: ['endless', 'spins', 'last', 'counts'], iterations: 1, seed: 1 } as const
  const { ending, tests } = await execute(primaryStore(t), source, work, undefined, { milliseconds: 1500, steps: 1e12 })
  t.match(ending, { ok: true })
  t.same(tests.map(({ name, failure }) => [name, failure?.code ?? null]).sort(), [
    ['counts', null],
    ['endless', 'RUN_TIME_LIMIT'],
    ['last', null],
    ['spins', 'RUN_TIME_LIMIT']
  ])
})

t.test('a database error reaches the thread of the program', async t => {
  const store = primaryStore(t)
  await execute(store, COUNTER)
  await store.execute('CREATE UNIQUE INDEX one ON hit (at)')
  t.same((await execute(store, COUNTER)).lines, ['Hit: another row has the same at', '1'])
})

t.test('a program without tables needs no database', async t => {
  const store = primaryStore(t)
  const { ending, lines } = await execute(store, 'fn main() { print("hello") }')
  t.same([ending.ok, lines], [true, ['hello']])
})
