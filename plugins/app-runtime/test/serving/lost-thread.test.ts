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
`

const DIST = join(import.meta.dirname, '..', '..', 'dist')
const THREAD_CONNECTION = join(import.meta.dirname, '..', '..', '..', 'database', 'dist', 'thread-connection.cjs')
const CALLS = 64

/** Ints shared with the thread: the point at which a commit stops, and whether it has stopped. */
const STOP_AT = 0
const HAS_STOPPED = 1
const BEFORE = 1
const AFTER = 2

/**
 * A module for `ThreadAccess` whose commits stop before or after they are done, as in a killed thread.
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
  const endpoints = endpointsOf(program.module)
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
          durable: null
        },
        endpoints.length
      )
      // Only calls with a known, low cost are committed as a group.
      thread.costs.fill(100)
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
