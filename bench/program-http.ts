/**
 * Requests per second to a served program. A point query, declared as `@query`, is compared with a hand-written Fastify
 * route on the libsql binding. A `@mutation` with one durable insert is compared with bare transactions of that
 * binding, and with a Fastify route for them.
 *
 * Server and peers run in separate processes, and rounds alternate between them. Needs `npm run build`. If
 * `SVC_BENCH_POCKETBASE` contains the path of a PocketBase program, its reads by id and inserts are measured too.
 * `SVC_BENCH_POCKETBASE_VERSION` is its version, if the program does not report one.
 *
 *   node --import tsx --conditions=svc-source bench/program-http.ts [--json] [--rounds N] [--seconds N] [--connections N]
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { fastify } from 'fastify'
import { figureOf, median, withRange } from './figures.ts'
import { openPocketBase, type PocketBase } from './pocketbase.ts'
import { isSmoke, SAMPLE_INTERVAL_MS } from './smoke-mode.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ROWS = isSmoke ? 100 : 1_000
const WARM_UP_SECONDS = isSmoke ? 0.1 : 2

const SOURCE = `
@table
type Book { title: str
    author: str
    year: int }

@query
fn book(id: Id[Book]) to Option[Book] { db.Book.get(id) }

@mutation
fn add(title: str, author: str, year: int) to int {
    db.Book.insert({ title: title, author: author, year: year })
}
`

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
  app.get('/api/query/book', { schema: { querystring, response: { 200: row } } }, async request => {
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

type Kind = 'query' | 'mutation'

/** Paths of a server: to read a row, and to add one. */
interface Paths {
  row(index: number): string
  readonly add: string
}

const OURS: Paths = { row: index => `/api/query/book?id=${index + 1}`, add: '/api/mutation/add' }

const pathsOf = ({ ids }: PocketBase): Paths => ({
  row: index => `/api/collections/books/records/${ids[index]}`,
  add: '/api/collections/books/records'
})

async function load(port: number, kind: Kind, seconds: number, connections: number, paths = OURS): Promise<number> {
  let row = 0
  const body = JSON.stringify({ title: 'A title', author: 'An author', year: 2000 })
  const request =
    kind === 'query'
      ? { setupRequest: (given: object) => ({ ...given, path: paths.row(row++ % ROWS) }) }
      : { method: 'POST' as const, path: paths.add, body, headers: { 'content-type': 'application/json' } }
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: seconds,
    requests: [request],
    sampleInt: SAMPLE_INTERVAL_MS
  })
  if (result.non2xx + result.errors > 0) throw new Error(`${kind}: ${result.non2xx + result.errors} requests failed`)
  return result.requests.average
}

function add(lists: Record<string, number[]>, name: string, value: number): void {
  lists[name] ??= []
  lists[name].push(value)
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '50' }
    }
  })
  const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(Number) as [
    number,
    number,
    number
  ]
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  writeFileSync(join(folder, 'svc.toml'), '')
  writeFileSync(join(folder, 'app.vox'), SOURCE)
  const peer = fork(fileURLToPath(import.meta.url), ['--peer', join(folder, 'peer.db')])
  const settings = [
    'app-runtime.program="app.vox"',
    'app-runtime.port=0',
    'http.main=false',
    'database.path="program.db"',
    'database.synchronous="full"'
  ].flatMap(each => ['--set', `plugins.${each}`])
  const bin = join(ROOT, 'kernel', 'bin', 'svc.cjs')
  const server = spawn(process.execPath, [bin, 'serve', '--json', '--only', 'app-runtime,http', ...settings], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe']
  })
  let pocketBase: PocketBase | null = null
  try {
    const [{ port: peerPort }] = (await once(peer, 'message')) as [{ port: number }]
    const port = await portOf(server)
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
    for (const kind of ['query', 'mutation'] as const) {
      await load(port, kind, WARM_UP_SECONDS, connections)
      await load(peerPort, kind, WARM_UP_SECONDS, connections)
    }
    const found: Record<string, number[]> = {
      query: [],
      'query, Fastify': [],
      mutation: [],
      'mutation, Fastify': [],
      transactions: []
    }
    const ratios: Record<string, number[]> = { query: [], 'mutation to transactions': [], 'mutation to Fastify': [] }
    for (let round = 0; round < rounds; round++) {
      const query = await load(port, 'query', seconds, connections)
      const peerQuery = await load(peerPort, 'query', seconds, connections)
      const mutation = await load(port, 'mutation', seconds, connections)
      const transactions = await bare()
      const peerMutation = await load(peerPort, 'mutation', seconds, connections)
      for (const [name, value] of Object.entries({
        query,
        'query, Fastify': peerQuery,
        mutation,
        'mutation, Fastify': peerMutation,
        transactions
      })) {
        found[name]?.push(value)
      }
      ratios.query?.push(query / peerQuery)
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
    if (values.json)
      console.log(
        JSON.stringify({
          benchmark: 'program-http',
          node: process.version,
          results,
          perSecond,
          pocketBase: pocketBase?.version ?? null
        })
      )
    else {
      for (const [name, value] of Object.entries(perSecond)) console.log(`${name}: ${value} a second`)
      for (const [name, value] of Object.entries(results)) console.log(`${name}: ${withRange(value, 'x')}`)
    }
  } finally {
    const ended = [server, peer].filter(each => each.exitCode === null).map(each => once(each, 'exit'))
    server.kill()
    peer.kill()
    await Promise.all([...ended, pocketBase?.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

function portOf(server: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const lines: string[] = []
    createInterface({ input: server.stderr as NodeJS.ReadableStream }).on('line', line => {
      lines.push(line)
      const port = /app listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    server.once('exit', code => reject(new Error(`svc serve ended with ${code}:\n${lines.join('\n')}`)))
  })
}

const [flag, file] = process.argv.slice(2)
if (flag === '--peer' && file !== undefined) await servePeer(file)
else await measure()
