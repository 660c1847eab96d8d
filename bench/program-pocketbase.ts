/**
 * A served program against PocketBase: a list with a filter, an insert, a change at all subscribers of a live query, a
 * request with a session, and a sign-in. Both run in separate processes, and rounds alternate between them. Needs
 * `npm run build`, and the path of a PocketBase program in `SVC_BENCH_POCKETBASE`; without it, only the served program is
 * measured.
 *
 * Requests are per second, with `--connections` connections. Both tables have the same rows and an index on the column of
 * the filter; neither side counts the rows of a list. A subscriber of either side receives one row for each change.
 * Commits are durable in the served program (`synchronous = full`), and not in PocketBase (`normal`).
 *
 * A sign-in is mainly a hash of the password. The program uses scrypt with N = 2^17, PocketBase bcrypt with cost 10. For
 * equal work, a second collection of PocketBase has the cost whose hash takes about as long as that scrypt.
 *
 *   node --import tsx --conditions=svc-source bench/program-pocketbase.ts [--json] [--rounds N] [--seconds N] [--connections N] [--subscribers N]
 */
import { randomBytes, scryptSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { WebSocket } from 'ws'
import { type Figure, figureOf, median, ratioOf, withRange } from './figures.ts'
import { AUTHORS, bookOf, openPocketBase, type PocketBase } from './pocketbase.ts'
import { type ServedProgram, serve } from './served-program.ts'
import { isSmoke, SAMPLE_INTERVAL_MS } from './smoke-mode.ts'

const ROWS = isSmoke ? 100 : 1_000
const SIGN_INS = isSmoke ? 1 : 4
const CHANGES = isSmoke ? 3 : 20
const MIN_YEAR = 1_950
const PAGE = 30

const SOURCE = `
@table @auth(provider: password, identity: email)
type User { email: str }

@table
type Book { title: str
    author: str
    year: int }

@index Book.by_author on (author)

@query
@public
fn by_author(author: str, from: int) to List[Book] {
    db.Book.where({ author: author, year: { gte: from } }).order_by("_id", "desc").limit(${PAGE})
}

@mutation
@public
fn add(title: str, author: str, year: int) to int {
    db.Book.insert({ title: title, author: author, year: year })
}

@query
@public
fn newest() to List[Book] { db.Book.all().order_by("_id", "desc").limit(1).live("books") }
`

/** Tasks whose figures are rates. For the others, a smaller one is better. */
const RATES = ['list with filter', 'insert', 'request with a session'] as const
type Rate = (typeof RATES)[number]
type Task = Rate | 'live change' | 'sign-in' | 'sign-in, equal work'

export interface PocketBaseResult {
  readonly version: string | null
  readonly subscribers: number
  /** Cost of bcrypt whose hash takes about as long as scrypt here. */
  readonly equalCost: number
  /** Requests per second; milliseconds of a live change and a sign-in. */
  readonly ours: Partial<Record<Task, Figure>>
  readonly theirs: Partial<Record<Task, Figure>>
  /** Ratios of speed, ours over theirs. */
  readonly ratios: Partial<Record<Task, Figure>>
}

/** One side of the comparison. */
interface Side {
  readonly port: number
  /** Path of a list, by a number. */
  list(index: number): string
  readonly insert: string
  /** Path of a request that a session authorises, and its headers. */
  readonly session: { readonly method: 'GET' | 'POST'; readonly path: string; readonly authorization: string }
  signIn(index: number, isEqual: boolean): Promise<void>
  /** Opens a subscriber, which calls `onTitle` with the title of each new row. Returns a function that ends it. */
  subscribe(onTitle: (title: string) => void): Promise<() => void>
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '50' },
    subscribers: { type: 'string', default: isSmoke ? '10' : '500' }
  }
})
const [rounds, seconds, connections, subscribers] = [
  values.rounds,
  values.seconds,
  values.connections,
  values.subscribers
].map(Number) as [number, number, number, number]

const USER = { email: 'reader@example.org', password: 'a password for a moment' }
const JSON_HEADERS = { 'content-type': 'application/json' }

async function post(url: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}

function filterOf(index: number): { readonly author: string; readonly from: number } {
  return { author: `Author ${index % AUTHORS}`, from: MIN_YEAR }
}

async function ourSide({ port }: ServedProgram): Promise<Side> {
  const url = `http://127.0.0.1:${port}`
  for (let row = 1; row <= ROWS; row++) await post(`${url}/api/mutation/add`, bookOf(row))
  // Attempts of one address for one user are limited, so each sign-in of a round has another user.
  const userOf = (index: number) => ({ ...USER, email: `${index}.${USER.email}`, session: 'token' })
  for (let index = 1; index < SIGN_INS; index++) await post(`${url}/api/auth/sign_up`, userOf(index))
  const { token } = await post(`${url}/api/auth/sign_up`, userOf(0))
  return {
    port,
    list(index) {
      const { author, from } = filterOf(index)
      return `/api/query/by_author?author=${encodeURIComponent(JSON.stringify(author))}&from=${from}`
    },
    insert: '/api/mutation/add',
    session: { method: 'GET', path: '/api/auth/me', authorization: `Bearer ${String(token)}` },
    async signIn(index) {
      await post(`${url}/api/auth/sign_in`, userOf(index))
    },
    async subscribe(onTitle) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/api/live`)
      await once(socket, 'open')
      socket.send('{"watch":1,"query":"newest"}')
      await once(socket, 'message')
      socket.on('message', data => onTitle(titleIn(String(data))))
      return () => socket.terminate()
    }
  }
}

async function theirSide(pocketBase: PocketBase, equalCost: number): Promise<Side> {
  const { port, ask } = pocketBase
  const url = `http://127.0.0.1:${port}/api/collections`
  const users = (name: string, cost: number): unknown => ({
    name,
    type: 'auth',
    fields: [{ name: 'password', type: 'password', system: true, required: true, cost }]
  })
  const collections = ['readers', 'equal_readers'] as const
  await ask('', users('readers', 10))
  await ask('', users('equal_readers', equalCost))
  for (const name of collections) await ask(`/${name}/records`, { ...USER, passwordConfirm: USER.password })
  const signIn = (name: string): Promise<Record<string, unknown>> =>
    post(`${url}/${name}/auth-with-password`, { identity: USER.email, password: USER.password })
  const { token } = await signIn('readers')
  return {
    port,
    list(index) {
      const { author, from } = filterOf(index)
      const filter = encodeURIComponent(`author='${author}'&&year>=${from}`)
      return `/api/collections/books/records?perPage=${PAGE}&skipTotal=1&sort=-@rowid&filter=${filter}`
    },
    insert: '/api/collections/books/records',
    session: { method: 'POST', path: '/api/collections/readers/auth-refresh', authorization: String(token) },
    async signIn(_, isEqual) {
      await signIn(isEqual ? 'equal_readers' : 'readers')
    },
    subscribe: onTitle => subscribeToPocketBase(port, onTitle)
  }
}

/** Follows the rows of `books` with events that the server sends, as the client of PocketBase does. */
async function subscribeToPocketBase(port: number, onTitle: (title: string) => void): Promise<() => void> {
  const outgoing = httpRequest({ port, host: '127.0.0.1', path: '/api/realtime', agent: false }).end()
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  incoming.setEncoding('utf8')
  let text = ''
  const id = await new Promise<string>(resolve => {
    incoming.on('data', (part: string) => {
      text += part
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = text.slice(0, end)
        text = text.slice(end + 2)
        const client = /"clientId":"([^"]+)"/.exec(event)?.[1]
        if (client !== undefined) resolve(client)
        else onTitle(titleIn(event))
      }
    })
  })
  const body = JSON.stringify({ clientId: id, subscriptions: ['books/*'] })
  const response = await fetch(`http://127.0.0.1:${port}/api/realtime`, { method: 'POST', headers: JSON_HEADERS, body })
  if (!response.ok) throw new Error(`PocketBase: realtime ${response.status}`)
  return () => outgoing.destroy()
}

/** Parsing all of a message would measure this process. */
function titleIn(text: string): string {
  return /"title":"([^"]*)"/.exec(text)?.[1] ?? ''
}

/** Returns the requests per second. */
async function rateOf(side: Side, task: Rate, duration: number): Promise<number> {
  let index = 0
  const { method, path, authorization } = side.session
  const body = JSON.stringify({ title: 'A title', author: 'An author', year: 2_000 })
  const request = {
    'list with filter': { setupRequest: (given: object) => ({ ...given, path: side.list(index++) }) },
    insert: { method: 'POST' as const, path: side.insert, body, headers: JSON_HEADERS },
    'request with a session': { method, path, headers: { authorization } }
  }[task]
  const result = await autocannon({
    url: `http://127.0.0.1:${side.port}`,
    connections,
    duration,
    requests: [request],
    sampleInt: SAMPLE_INTERVAL_MS
  })
  const failed = result.non2xx + result.errors
  if (failed > 0) throw new Error(`${task} at port ${side.port}: ${failed} requests failed`)
  return result.requests.average
}

/** Returns the median of the milliseconds from an insert until all subscribers have its row. */
async function liveMs(side: Side, round: number): Promise<number> {
  let wanted = ''
  let missing = 0
  let done = (): void => undefined
  const onTitle = (title: string): void => {
    if (title !== wanted) return
    missing -= 1
    if (missing === 0) done()
  }
  const ends: (() => void)[] = []
  for (let index = 0; index < subscribers; index++) ends.push(await side.subscribe(onTitle))
  const times: number[] = []
  for (let change = -Math.ceil(CHANGES / 5); change < CHANGES; change++) {
    wanted = `round ${round}, change ${change}`
    missing = subscribers
    const received = new Promise<void>(resolve => {
      done = resolve
    })
    const began = performance.now()
    await Promise.all([
      post(`http://127.0.0.1:${side.port}${side.insert}`, { title: wanted, author: 'An author', year: 2_000 }),
      received
    ])
    if (change >= 0) times.push(performance.now() - began)
  }
  for (const end of ends) end()
  return median(times)
}

/** Returns the median of the milliseconds of sign-ins, one after another. */
async function signInMs(side: Side, isEqual: boolean): Promise<number> {
  const times: number[] = []
  for (let index = 0; index < SIGN_INS; index++) {
    const began = performance.now()
    await side.signIn(index, isEqual)
    times.push(performance.now() - began)
  }
  return median(times)
}

/** Returns the cost of bcrypt whose hash takes about as long as the scrypt of the program. Each step doubles the time. */
async function equalCostOf(pocketBase: PocketBase): Promise<number> {
  const { port, ask } = pocketBase
  await ask('', { name: 'probes', type: 'auth' })
  await ask('/probes/records', { ...USER, passwordConfirm: USER.password })
  const body = { identity: USER.email, password: USER.password }
  const times: number[] = []
  const hashes: number[] = []
  for (let index = 0; index < 3; index++) {
    let began = performance.now()
    await post(`http://127.0.0.1:${port}/api/collections/probes/auth-with-password`, body)
    times.push(performance.now() - began)
    began = performance.now()
    scryptSync(USER.password, randomBytes(16), 32, { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 })
    hashes.push(performance.now() - began)
  }
  return 10 + Math.max(0, Math.round(Math.log2(median(hashes) / median(times))))
}

async function measureSide(side: Side, round: number, isEqualToo: boolean): Promise<Map<Task, number>> {
  const found = new Map<Task, number>()
  for (const task of RATES) found.set(task, await rateOf(side, task, seconds))
  found.set('live change', await liveMs(side, round))
  const signIn = await signInMs(side, false)
  found.set('sign-in', signIn)
  found.set('sign-in, equal work', isEqualToo ? await signInMs(side, true) : signIn)
  return found
}

function note(lists: Partial<Record<Task, number[]>>, found: ReadonlyMap<Task, number>): void {
  for (const [task, value] of found) {
    lists[task] ??= []
    lists[task].push(value)
  }
}

function figuresOf(lists: Partial<Record<Task, number[]>>): Partial<Record<Task, Figure>> {
  return Object.fromEntries(Object.entries(lists).map(([task, all]) => [task, figureOf(all)]))
}

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const served = await serve(folder, SOURCE)
const program = process.env.SVC_BENCH_POCKETBASE
let pocketBase: PocketBase | null = null
try {
  pocketBase = program === undefined ? null : await openPocketBase(program, join(folder, 'pocketbase'), ROWS)
  const equalCost = pocketBase === null ? 0 : await equalCostOf(pocketBase)
  const ours = await ourSide(served)
  const theirs = pocketBase === null ? null : await theirSide(pocketBase, equalCost)
  for (const side of [ours, theirs]) {
    if (side !== null) for (const task of RATES) await rateOf(side, task, isSmoke ? 0.1 : 1)
  }
  const lists: Record<'ours' | 'theirs', Partial<Record<Task, number[]>>> = { ours: {}, theirs: {} }
  for (let round = 0; round < rounds; round++) {
    note(lists.ours, await measureSide(ours, round, false))
    if (theirs !== null) note(lists.theirs, await measureSide(theirs, round, true))
  }
  const isRate = (task: string): boolean => RATES.some(each => each === task)
  const ratios = Object.entries(lists.theirs).map(([task, all]) => {
    const own = lists.ours[task as Task] as readonly number[]
    return [task, isRate(task) ? ratioOf(own, all) : ratioOf(all, own)] as const
  })
  const result: PocketBaseResult = {
    version: pocketBase?.version ?? null,
    subscribers,
    equalCost,
    ours: figuresOf(lists.ours),
    theirs: figuresOf(lists.theirs),
    ratios: Object.fromEntries(ratios)
  }
  if (values.json) console.log(JSON.stringify(result))
  else {
    for (const [task, own] of Object.entries(result.ours)) {
      const [other, ratio] = [result.theirs[task as Task], result.ratios[task as Task]]
      const unit = isRate(task) ? ' a second' : ' ms'
      const rest =
        other === undefined || ratio === undefined
          ? ''
          : `; PocketBase ${withRange(other, unit)}: ${withRange(ratio, 'x')}`
      console.log(`${task}: ${withRange(own, unit)}${rest}`)
    }
  }
} finally {
  await Promise.all([served.stop(), pocketBase?.stop()])
  rmSync(folder, { recursive: true, force: true })
}
