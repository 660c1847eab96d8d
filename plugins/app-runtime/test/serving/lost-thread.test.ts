import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FileConnection } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import { endpointsOf, LoadingThread, ProgramPool, STATE } from '#serving'
import { HTTP_ANSWERS, ProgramWorker } from '#threads'
import { makeTables } from '../database/with-tables.ts'
import { LIMITS, programFrom } from '../run-program.ts'

const SOURCE = `
@table
type Entry { key: str }

@mutation
fn enter(key: str) to Result[int] { db.Entry.insert({ key: key }) }

@mutation
fn announce(key: str, url: str) to Result[str] {
    db.Entry.insert({ key: key })?
    std.http.get_text(url)
}

@mutation
fn refuse(key: str) to Result[int] {
    db.Entry.insert({ key: key })?
    Error("no")
}

fn hang() to bool {
    std.regex.compile("^(a+)+$").unwrap().matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")
}

@server
fn record(key: str) to bool {
    db.Entry.insert({ key: key })
    hang()
}

@server
fn record_and_ask(key: str, url: str) to bool {
    std.http.get_text(url)
    db.Entry.insert({ key: key })
    hang()
}

@server
fn delegate(key: str) to bool {
    enter(key)
    hang()
}

@server
fn idle() to bool { hang() }
`

const DIST = join(import.meta.dirname, '..', '..', 'dist')
const THREAD_CONNECTION = join(import.meta.dirname, '..', '..', '..', 'database', 'dist', 'thread-connection.cjs')
const CALLS = 64

/** Ints shared with the thread: the point at which a commit stops, and whether it has stopped. */
const STOP_AT = 0
const HAS_STOPPED = 1
const BEFORE = 1
const AFTER = 2
/** The commit fails. */
const FAILING = 3

/**
 * A module for `ThreadAccess` whose commits fail, or stop before or after they are done, as in a killed thread.
 */
const STOPPING = `
const { connect } = require(${JSON.stringify(THREAD_CONNECTION)})
exports.connect = ({ place, control }, ...rest) => {
  const shared = new Int32Array(control)
  const connection = connect(place, ...rest)
  const commit = connection.commit.bind(connection)
  const stopAt = point => {
    if (Atomics.load(shared, ${STOP_AT}) !== point) return
    Atomics.store(shared, ${HAS_STOPPED}, 1)
    for (;;) Atomics.wait(shared, ${HAS_STOPPED}, 1)
  }
  connection.commit = () => {
    if (Atomics.load(shared, ${STOP_AT}) === ${FAILING}) throw new Error('disk I/O error')
    stopAt(${BEFORE})
    commit()
    stopAt(${AFTER})
  }
  return connection
}
`

interface Answered {
  readonly status: number
  readonly body: { readonly error?: string; readonly code?: string; readonly committed?: boolean | null }
}

interface World {
  /** Number of calls of the thread that runs the program. */
  readonly threads: readonly LoadingThread[]
  readonly control: Int32Array
  call(name: string, input: object): Promise<Answered>
  /** Keys in the table, in order. */
  keys(): unknown[]
  inState(state: number): number
  /** Ends the thread as a crash would. */
  kill(): Promise<void>
}

async function openPool(t: Test): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'lost-thread-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = join(folder, 'store.db')
  const module = join(folder, 'stopping.cjs')
  writeFileSync(module, STOPPING)
  const place = { file, busyTimeoutMs: 5_000, synchronous: 'normal' } as const
  const program = programFrom(SOURCE)
  const connection = new FileConnection(place)
  makeTables(connection, program)
  const control = new Int32Array(new SharedArrayBuffer(8))
  const endpoints = endpointsOf(program)
  const threads: LoadingThread[] = []
  const pool = await ProgramPool.open({
    threads: 1,
    endpoints,
    path: 'program.vox',
    log: { debug() {}, info() {}, warn() {}, error() {} } as never,
    timeLimit: 60_000,
    thread: async () => {
      const thread = new LoadingThread(
        new ProgramWorker(join(DIST, 'serving-worker.cjs'), { execArgv: [] }),
        {
          program,
          limits: LIMITS,
          capabilities: ['net'],
          database: {
            thread: { module, options: { place, control: control.buffer } },
            location: file,
            capabilities: { fts: true, vector: true }
          },
          durable: null,
          hasMesh: false
        },
        endpoints.length
      )
      // Only calls with a known, low cost are committed as a group. Their measured cost does not change this one much.
      thread.costs.fill(-1_000_000_000)
      threads.push(thread)
      return thread
    },
    answers: () => HTTP_ANSWERS
  })
  t.teardown(async () => {
    await pool.close()
    connection.close()
  })
  const current = (): LoadingThread => threads.at(-1) as LoadingThread
  return {
    threads,
    control,
    call: async (name, input) => {
      const { status, body } = await pool.ask(
        endpoints.findIndex(each => each.name === name),
        JSON.stringify(input)
      )
      return { status, body: JSON.parse(body) }
    },
    keys: () => connection.rows('SELECT key FROM entry ORDER BY key').map(([key]) => key),
    inState: state =>
      current()
        .progress.subarray(0, 256)
        .filter(each => each === state).length,
    kill: async () => void (await current().worker.terminate())
  }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(2)
}

/** Server that responds to every path except `/never`, and counts requests by path. */
async function openServer(t: Test): Promise<{ readonly url: string; readonly requests: Map<string, number> }> {
  const requests = new Map<string, number>()
  const server: Server = createServer(({ url = '' }, response) => {
    requests.set(url, (requests.get(url) ?? 0) + 1)
    if (url !== '/never') response.end('here')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

const keyOf = (at: number): string => String(at).padStart(2, '0')
const KEYS = Array.from({ length: CALLS }, (_, at) => keyOf(at))

for (const [name, point, rows] of [
  ['before the commit', BEFORE, []],
  ['after the commit', AFTER, KEYS]
] as const) {
  t.test(`a thread that ends while 64 calls are COMMITTING, ${name}, leaves none without a response`, async t => {
    const world = await openPool(t)
    Atomics.store(world.control, STOP_AT, point)
    const calls = KEYS.map(key => world.call('enter', { key }))
    await until(() => Atomics.load(world.control, HAS_STOPPED) === 1)
    t.equal(world.inState(STATE.COMMITTING), CALLS)
    Atomics.store(world.control, STOP_AT, 0)
    await world.kill()
    for (const answer of await Promise.all(calls))
      t.match(answer, { status: 500, body: { code: 'RUN_CRASHED', committed: null, error: /it is unknown/ } })
    t.same(world.keys(), rows)
    t.equal((await world.call('enter', { key: 'next' })).status, 200)
  })
}

t.test('if a thread ends with 62 calls HELD, they are repeated, except those that made a request', async t => {
  const world = await openPool(t)
  const { url, requests } = await openServer(t)
  const calls = KEYS.map((key, at) => {
    if (at === 5) return world.call('announce', { key, url: `${url}/once` })
    return at === CALLS - 1 ? world.call('announce', { key, url: `${url}/never` }) : world.call('enter', { key })
  })
  await until(() => requests.has('/never'))
  t.equal(world.inState(STATE.HELD), CALLS - 1)
  t.equal(world.inState(STATE.RUNNING), 1)
  await world.kill()
  for (const [at, answer] of (await Promise.all(calls)).entries()) {
    if (at === 5 || at === CALLS - 1)
      t.match(answer, { status: 500, body: { code: 'RUN_CRASHED', committed: false, error: /cannot be undone/ } })
    else t.equal(answer.status, 200)
  }
  t.same(
    world.keys(),
    KEYS.filter((_, at) => at !== 5 && at !== CALLS - 1)
  )
  t.same(
    [...requests],
    [
      ['/once', 1],
      ['/never', 1]
    ]
  )
  t.equal(world.threads.length, 2)
})

t.test('if a thread ends with 63 calls POSTED after a long one, they are repeated', async t => {
  const world = await openPool(t)
  const { url, requests } = await openServer(t)
  world.threads[0]?.costs.fill(0)
  const long = world.call('announce', { key: 'long', url: `${url}/never` })
  const calls = KEYS.slice(1).map(key => world.call('enter', { key }))
  await until(() => requests.has('/never'))
  await world.kill()
  t.match(await long, { status: 500, body: { committed: false, error: /cannot be undone/ } })
  for (const { status } of await Promise.all(calls)) t.equal(status, 200)
  t.same(world.keys(), KEYS.slice(1))
  t.same([...requests], [['/never', 1]])
})

for (const [name, effect, committed, error] of [
  ['record', 'writes', null, /ended; its changes may have been stored$/],
  ['delegate', 'calls a mutation', null, /ended; its changes may have been stored$/],
  [
    'record_and_ask',
    'writes and makes a request',
    null,
    /may have been stored, but its HTTP requests.* cannot be undone$/
  ],
  ['idle', 'has no effect', false, /ended; it had no effect$/]
] as const) {
  t.test(`a server function that ${effect} is not a transaction, and reports that if its thread ends`, async t => {
    const world = await openPool(t)
    const { url } = await openServer(t)
    const key = 'a'
    const input = { idle: {}, record: { key }, delegate: { key }, record_and_ask: { key, url: `${url}/here` } }[name]
    const call = world.call(name, input)
    const isStored = () => world.keys().length === 1
    await until(() => (name === 'idle' ? world.inState(STATE.RUNNING) === 1 : isStored()))
    await world.kill()
    t.match(await call, { status: 500, body: { code: 'RUN_CRASHED', committed, error } })
    t.same(world.keys(), name === 'idle' ? [] : ['a'])
  })
}

t.test('a refused mutation whose response is lost was rolled back, so it runs again', async t => {
  const world = await openPool(t)
  const calls = [world.call('refuse', { key: 'a' }), world.call('idle', {})]
  await until(() => world.inState(STATE.RUNNING) === 1 && world.inState(STATE.ROLLED_BACK) === 1)
  await world.kill()
  const [refused, stopped] = await Promise.all(calls)
  t.match(refused, { status: 500, body: { code: 'RUN_REFUSED', error: 'no' } })
  t.match(stopped, { status: 500, body: { code: 'RUN_CRASHED', committed: false, error: /it had no effect/ } })
  t.same(world.keys(), [])
})

t.test('a refused mutation in a group commit is never reported as committed', async t => {
  const world = await openPool(t)
  Atomics.store(world.control, STOP_AT, BEFORE)
  const calls = KEYS.slice(0, 6).map((key, at) => world.call(at % 2 === 0 ? 'enter' : 'refuse', { key }))
  await until(() => Atomics.load(world.control, HAS_STOPPED) === 1)
  t.equal(world.inState(STATE.ROLLED_BACK), 3)
  Atomics.store(world.control, STOP_AT, 0)
  await world.kill()
  for (const [at, answer] of (await Promise.all(calls)).entries()) {
    if (at % 2 === 0) t.match(answer, { body: { code: 'RUN_CRASHED', committed: null } })
    else t.match(answer, { body: { code: 'RUN_REFUSED', error: 'no' } })
  }
  t.same(world.keys(), [])
})

t.test('a committed mutation whose response is lost is reported as completed', async t => {
  const world = await openPool(t)
  const calls = [world.call('enter', { key: 'a' }), world.call('idle', {})]
  await until(() => world.inState(STATE.RUNNING) === 1 && world.inState(STATE.DONE) === 1)
  await world.kill()
  t.match((await Promise.all(calls))[0], { body: { committed: true, error: /it completed, but its result is lost$/ } })
  t.same(world.keys(), ['a'])
})

t.test('if a commit fails and the response is lost, it is unknown whether the changes are stored', async t => {
  const world = await openPool(t)
  Atomics.store(world.control, STOP_AT, FAILING)
  const calls = [world.call('enter', { key: 'a' }), world.call('idle', {})]
  await until(() => world.inState(STATE.RUNNING) === 1 && world.inState(STATE.UNCERTAIN) === 1)
  await world.kill()
  const [entered, stopped] = await Promise.all(calls)
  t.match(entered, { body: { committed: null, error: /it is unknown/ } })
  t.match(stopped, { body: { committed: false } })
})
