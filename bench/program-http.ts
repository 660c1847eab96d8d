/**
 * Requests per second to a served program. A point query, declared as `@query`, is compared with a hand-written Fastify
 * route on the libsql binding, both open and with a JSON Web Token (HS256). A `@mutation` with one durable insert is
 * compared with bare transactions of that binding, and with a Fastify route for them. On Linux, the CPU time of the
 * server for a guarded request is compared with that for an open one.
 *
 * The hand-written guard verifies the token with `node:crypto` in each request. The program verifies a token again after a
 * minute.
 *
 * Server and peers run in separate processes, and rounds alternate between them. Needs `npm run build`. If
 * `SVC_BENCH_POCKETBASE` contains the path of a PocketBase program, its reads by id and inserts are measured too.
 * `SVC_BENCH_POCKETBASE_VERSION` is its version, if the program does not report one.
 *
 *   node --import tsx --conditions=svc-source bench/program-http.ts [--json] [--rounds N] [--seconds N] [--connections N]
 */
import { fork } from 'node:child_process'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { fastify } from 'fastify'
import { figureOf, median, withRange } from './figures.ts'
import { openPocketBase, type PocketBase } from './pocketbase.ts'
import { cpuMicroseconds, serve } from './served-program.ts'
import { isSmoke } from './smoke-mode.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ROWS = isSmoke ? 100 : 1_000
const WARM_UP_SECONDS = isSmoke ? 0.1 : 2
/** Interval of samples of autocannon, with one of which a run ends. */
const SAMPLE_INTERVAL_MS = 25
/** Parts of a round in which server and peer alternate. */
const SLICES = isSmoke ? 1 : 4

const SOURCE = `
@table
type Book { title: str
    author: str
    year: int }

@query
@public
fn book(id: Id[Book]) to Option[Book] { db.Book.get(id) }

@query
@auth(provider: jwt)
fn guarded_book(id: Id[Book]) to Option[Book] { db.Book.get(id) }

@mutation
@public
fn add(title: str, author: str, year: int) to int {
    db.Book.insert({ title: title, author: author, year: year })
}
`

const SECRET = 'a secret of this benchmark, which is no secret'

/** Returns a token as both servers accept it. */
function tokenOf(subject: string): string {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 86_400
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ sub: subject, exp })}`
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
}

/** Returns the subject of a bearer token; null if it is invalid or has expired. */
function subjectOf(authorization: string | undefined): string | null {
  const [, head = '', payload = '', signature = ''] =
    /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization ?? '') ?? []
  const given = Buffer.from(signature, 'base64url')
  const expected = createHmac('sha256', SECRET).update(`${head}.${payload}`).digest()
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
  if (JSON.parse(Buffer.from(head, 'base64url').toString()).alg !== 'HS256') return null
  const { sub, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  return typeof sub === 'string' && exp > Date.now() / 1000 ? sub : null
}

interface Database {
  prepare(sql: string): { get(...given: unknown[]): unknown; run(...given: unknown[]): { lastInsertRowid: number } }
  exec(sql: string): void
}

function openPeer(file: string): Database {
  const require = createRequire(join(ROOT, 'plugins', 'database', 'package.json'))
  const Binding = require('libsql') as new (path: string) => Database
  const database = new Binding(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec(
    'CREATE TABLE book (_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, author TEXT NOT NULL, year INTEGER NOT NULL)'
  )
  database.exec('BEGIN')
  const insert = database.prepare('INSERT INTO book (title, author, year) VALUES (?, ?, ?)')
  for (let row = 1; row <= ROWS; row++) insert.run(`Title ${row}`, 'Author', 1900 + (row % 100))
  database.exec('COMMIT')
  return database
}

/** Program of the peer process: serves the hand-written routes, and measures bare transactions on request. */
async function servePeer(file: string): Promise<void> {
  const database = openPeer(file)
  const select = database.prepare('SELECT _id, title, author, year FROM book WHERE _id = ?')
  const insert = database.prepare('INSERT INTO book (title, author, year) VALUES (?, ?, ?)')
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const add = ({ title, author, year }: { title: string; author: string; year: number }): number => {
    begin.run()
    const { lastInsertRowid } = insert.run(title, author, year)
    commit.run()
    return lastInsertRowid
  }
  const properties = { title: { type: 'string' }, author: { type: 'string' }, year: { type: 'integer' } }
  const row = { type: ['object', 'null'], properties: { _id: { type: 'integer' }, ...properties } }
  const app = fastify()
  const querystring = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }
  const schema = { querystring, response: { 200: row } }
  app.get('/api/query/book', { schema }, async request => {
    return select.get((request.query as { id: number }).id) ?? null
  })
  const guarded = { querystring, response: { 200: row, 401: { type: 'string' } } }
  app.get('/api/query/guarded_book', { schema: guarded }, async (request, reply) => {
    if (subjectOf(request.headers.authorization) === null) return reply.code(401).send('a token is missing or wrong')
    reply.header('cache-control', 'no-store')
    return select.get((request.query as { id: number }).id) ?? null
  })
  const body = { type: 'object', properties, required: ['title', 'author', 'year'], additionalProperties: false }
  app.post('/api/mutation/add', { schema: { body, response: { 200: { type: 'integer' } } } }, async request => {
    return add(request.body as never)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  process.on('message', (milliseconds: number) => {
    const until = performance.now() + milliseconds
    const started = performance.now()
    let count = 0
    for (; performance.now() < until; count++) add({ title: `New ${count}`, author: 'Author', year: 2000 })
    process.send?.({ rate: (count * 1000) / (performance.now() - started) })
  })
  process.send?.({ port: (app.server.address() as { port: number }).port })
}

type Kind = 'query' | 'guarded query' | 'mutation'

/** Paths of a server: to read a row, also as a caller with a token, and to add one. */
interface Paths {
  row(index: number): string
  guardedRow?(index: number): string
  readonly add: string
}

const OURS: Paths = {
  row: index => `/api/query/book?id=${index + 1}`,
  guardedRow: index => `/api/query/guarded_book?id=${index + 1}`,
  add: '/api/mutation/add'
}
const AUTHORIZATION = { authorization: `Bearer ${tokenOf('a reader')}` }

const pathsOf = ({ ids }: PocketBase): Paths => ({
  row: index => `/api/collections/books/records/${ids[index]}`,
  add: '/api/collections/books/records'
})

/** Returns the rate of requests per second. */
async function load(port: number, kind: Kind, seconds: number, connections: number, paths = OURS): Promise<number> {
  const { requests, duration } = await send(port, kind, seconds, connections, paths)
  return requests.total / duration
}

async function send(port: number, kind: Kind, seconds: number, connections: number, paths = OURS) {
  let row = 0
  const body = JSON.stringify({ title: 'A title', author: 'An author', year: 2000 })
  const request = {
    query: { setupRequest: (given: object) => ({ ...given, path: paths.row(row++ % ROWS) }) },
    'guarded query': {
      headers: AUTHORIZATION,
      setupRequest: (given: object) => ({ ...given, path: paths.guardedRow?.(row++ % ROWS) })
    },
    mutation: { method: 'POST' as const, path: paths.add, body, headers: { 'content-type': 'application/json' } }
  }[kind]
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: seconds,
    requests: [request],
    sampleInt: SAMPLE_INTERVAL_MS
  })
  if (result.non2xx + result.errors > 0) throw new Error(`${kind}: ${result.non2xx + result.errors} requests failed`)
  return result
}

function add(lists: Record<string, number[]>, name: string, value: number): void {
  lists[name] ??= []
  lists[name].push(value)
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean' },
      rounds: { type: 'string', default: '11' },
      seconds: { type: 'string', default: '2' },
      connections: { type: 'string', default: '50' }
    }
  })
  const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(Number) as [
    number,
    number,
    number
  ]
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  const peer = fork(fileURLToPath(import.meta.url), ['--peer', join(folder, 'peer.db')])
  const server = await serve(folder, SOURCE, { settings: [`app-runtime.auth.secret=["${SECRET}"]`] })
  const { port } = server
  let pocketBase: PocketBase | null = null
  try {
    const [{ port: peerPort }] = (await once(peer, 'message')) as [{ port: number }]
    for (let row = 1; row <= ROWS; row++) {
      await fetch(`http://127.0.0.1:${port}/api/mutation/add`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title: `Title ${row}`, author: 'Author', year: 1900 + (row % 100) })
      })
    }
    const program = process.env.SVC_BENCH_POCKETBASE
    pocketBase = program === undefined ? null : await openPocketBase(program, join(folder, 'pocketbase'), ROWS)
    const bare = async (): Promise<number> => {
      peer.send(seconds * 1000)
      const [{ rate }] = (await once(peer, 'message')) as [{ rate: number }]
      return rate
    }
    for (const kind of ['query', 'guarded query', 'mutation'] as const) {
      await load(port, kind, WARM_UP_SECONDS, connections)
      await load(peerPort, kind, WARM_UP_SECONDS, connections)
    }
    const found: Record<string, number[]> = {
      query: [],
      'query, Fastify': [],
      'guarded query': [],
      'guarded query, Fastify': [],
      mutation: [],
      'mutation, Fastify': [],
      transactions: []
    }
    const ratios: Record<string, number[]> = {
      query: [],
      'guarded query': [],
      'mutation to transactions': [],
      'mutation to Fastify': []
    }
    /** CPU time of the server for a request, in microseconds. */
    const cpu: Record<'query' | 'guarded query', number[]> = { query: [], 'guarded query': [] }
    /**
     * Returns the rates of the server and of the peer. They alternate in slices, and swap their order after each pair, so
     * that a machine which changes its speed during a round changes it for both.
     */
    const measured = async (kind: 'query' | 'guarded query'): Promise<[ours: number, theirs: number]> => {
      const slice = seconds / SLICES
      let [ours, theirs, answered, busy] = [0, 0, 0, 0]
      const loadOurs = async () => {
        const before = cpuMicroseconds(server.process.pid)
        const { requests, duration } = await send(port, kind, slice, connections)
        const after = cpuMicroseconds(server.process.pid)
        ours += requests.total / duration / SLICES
        answered += requests.total
        busy = before === null || after === null ? Number.NaN : busy + after - before
      }
      const loadTheirs = async () => {
        theirs += (await load(peerPort, kind, slice, connections)) / SLICES
      }
      for (let pair = 0; pair < SLICES; pair++) {
        for (const next of pair % 2 === 0 ? [loadOurs, loadTheirs] : [loadTheirs, loadOurs]) await next()
      }
      cpu[kind].push(busy / answered)
      return [ours, theirs]
    }
    for (let round = 0; round < rounds; round++) {
      const [query, peerQuery] = await measured('query')
      const [guarded, peerGuarded] = await measured('guarded query')
      const mutation = await load(port, 'mutation', seconds, connections)
      const transactions = await bare()
      const peerMutation = await load(peerPort, 'mutation', seconds, connections)
      for (const [name, value] of Object.entries({
        query,
        'query, Fastify': peerQuery,
        'guarded query': guarded,
        'guarded query, Fastify': peerGuarded,
        mutation,
        'mutation, Fastify': peerMutation,
        transactions
      })) {
        found[name]?.push(value)
      }
      ratios.query?.push(query / peerQuery)
      ratios['guarded query']?.push(guarded / peerGuarded)
      ratios['mutation to transactions']?.push(mutation / transactions)
      ratios['mutation to Fastify']?.push(mutation / peerMutation)
      if (pocketBase === null) continue
      for (const [kind, ours] of [
        ['query', query],
        ['mutation', mutation]
      ] as const) {
        const theirs = await load(pocketBase.port, kind, seconds, connections, pathsOf(pocketBase))
        add(found, `${kind}, PocketBase`, theirs)
        add(ratios, `${kind} to PocketBase`, ours / theirs)
      }
    }
    const perSecond = Object.fromEntries(Object.entries(found).map(([name, all]) => [name, Math.round(median(all))]))
    const results = Object.fromEntries(Object.entries(ratios).map(([name, all]) => [name, figureOf(all)]))
    // A round of a smoke run may be too short for a request.
    const extra = cpu.query.map((open, round) => (cpu['guarded query'][round] as number) - open).filter(Number.isFinite)
    const guardMicroseconds = extra.length === 0 ? null : figureOf(extra)
    if (values.json)
      console.log(
        JSON.stringify({
          benchmark: 'program-http',
          node: process.version,
          results,
          perSecond,
          guardMicroseconds,
          pocketBase: pocketBase?.version ?? null
        })
      )
    else {
      for (const [name, value] of Object.entries(perSecond)) console.log(`${name}: ${value} a second`)
      for (const [name, value] of Object.entries(results)) console.log(`${name}: ${withRange(value, 'x')}`)
      if (guardMicroseconds !== null) console.log(`CPU time of a guard: ${withRange(guardMicroseconds, ' µs')}`)
    }
  } finally {
    const ended = peer.exitCode === null ? once(peer, 'exit') : null
    peer.kill()
    await Promise.all([ended, server.stop(), pocketBase?.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

const [flag, file] = process.argv.slice(2)
if (flag === '--peer' && file !== undefined) await servePeer(file)
else await measure()
