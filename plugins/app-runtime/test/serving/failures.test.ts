import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { type App, serveApp } from './served-app.ts'

const SOURCE = `
@table
type Note { text: str }

@query
fn add(a: int, b: int = 5) to int { a + b }

@query
fn notes() to List[Note] { db.Note.all().live("notes") }

@mutation
fn add_note(text: str) to Result[int] {
    if text is "" { return Error("a note needs a text") }
    db.Note.insert({ text: text })
}

@server
fn divide(a: int, b: int) to int { a / b }

@server
fn for_ever() to int {
    let mut n = 0
    while true { n = (n + 1) % 1000 }
    n
}

http get "/items/:id"(id: int) to int { id }
http post "/points"(point: List[int]) to int { point.len() }
http put "/raw" to str { request.text() }
`

const SETTINGS = {
  'app-runtime.time_limit_ms': 60_000,
  'app-runtime.steps': 1_000_000_000_000,
  'app-runtime.threads': 2,
  'http.body_limit_bytes': 1_000,
  'http.request_timeout_ms': 60_000
}

/** Milliseconds that a test waits for a condition. */
const SHORT = { 'app-runtime.time_limit_ms': 1_000, 'http.request_timeout_ms': 1_000 }

interface Raw {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Sends raw bytes, and reads one response. */
async function sendRaw(port: number, bytes: string, hasBody = true): Promise<Raw> {
  const socket = connect(port, '127.0.0.1')
  try {
    socket.write(bytes)
    return await readAnswer(socket, hasBody)
  } finally {
    socket.destroy()
  }
}

async function readAnswer(socket: Socket, hasBody = true): Promise<Raw> {
  let received = Buffer.alloc(0)
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk as Buffer])
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) continue
    const [line = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n')
    const headers = new Map(
      lines.map(each => {
        const at = each.indexOf(':')
        return [each.slice(0, at).toLowerCase(), each.slice(at + 1).trim()] as const
      })
    )
    const body = received.subarray(end + 4)
    if (hasBody && body.length < Number(headers.get('content-length') ?? 0)) continue
    return { status: Number(line.split(' ')[1]), headers, body: body.toString('utf8') }
  }
  throw new Error(`the connection ended after ${received.toString('latin1').slice(0, 200)}`)
}

let app: App
let port: number
let isFailure: ValidateFunction
t.before(async () => {
  app = await serveApp(t as never, SOURCE, SETTINGS)
  port = Number(new URL(app.app).port)
  const document = (await app.get('/openapi.json')).body as { components: { schemas: { CallError: object } } }
  isFailure = new Ajv2020({ strict: false }).compile(document.components.schemas.CallError)
})

interface Expected {
  readonly status: number
  readonly code: string
  readonly allow?: string
  readonly hint?: string | RegExp
}

/** Every layer must report errors in the same form. */
function isOneForm(t: Test, name: string, answer: Raw, { status, code, allow, hint }: Expected): void {
  t.equal(answer.status, status, name)
  t.match(answer.headers.get('content-type'), /^application\/json/, name)
  const body = JSON.parse(answer.body) as { code: string; hint?: string; request_id: string }
  t.ok(body.request_id, `${name} has a request id`)
  t.equal(answer.headers.get('x-request-id'), body.request_id, name)
  t.ok(isFailure(body), `${name}: ${answer.body}`)
  t.equal(body.code, code, name)
  t.equal(answer.headers.get('allow'), allow, name)
  if (hint !== undefined) t.match(body.hint, hint, name)
}

function request(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
  to = port
): string {
  const all = {
    host: `127.0.0.1:${to}`,
    connection: 'close',
    ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    ...headers
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

t.test('every failure has the same form, and a status that classifies it', async t => {
  const chunked = { 'transfer-encoding': 'chunked', 'content-type': 'application/json' }
  const upgrade = {
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA=='
  }
  const large = `{"a": "${'x'.repeat(2_000)}"}`
  const cases: readonly (readonly [bytes: string, expected: Expected])[] = [
    [
      request('POST', '/api/devide', {}, '{}'),
      { status: 404, code: 'RUN_NOT_FOUND', hint: 'did you mean POST /api/divide?' }
    ],
    [
      request('POST', '/api/add_note', {}, '{}'),
      { status: 404, code: 'RUN_NOT_FOUND', hint: 'did you mean POST /api/mutation/add_note?' }
    ],
    [request('GET', '/api/query/note'), { status: 404, code: 'RUN_NOT_FOUND', hint: /GET \/api\/query\/notes\?$/ }],
    [request('GET', '/item/7'), { status: 404, code: 'RUN_NOT_FOUND', hint: 'did you mean GET /items/:id?' }],
    [request('DELETE', '/api/nothing/at/all'), { status: 404, code: 'RUN_NOT_FOUND', hint: /openapi\.json/ }],
    [request('PATCH', '/nowhere', {}, '{}'), { status: 404, code: 'RUN_NOT_FOUND' }],
    [request('OPTIONS', '/api/nothing'), { status: 404, code: 'RUN_NOT_FOUND' }],
    [request('PROPFIND', '/api/nothing'), { status: 404, code: 'RUN_NOT_FOUND' }],
    [request('GET', '/none.png'), { status: 404, code: 'RUN_NOT_FOUND' }],
    [request('GET', '/api/live/nothing'), { status: 404, code: 'RUN_LIVE_UNKNOWN' }],
    [request('GET', '/api/nothing', upgrade), { status: 404, code: 'HTTP_NOT_FOUND' }],
    [request('GET', '/api/divide'), { status: 405, code: 'RUN_METHOD', allow: 'POST, OPTIONS' }],
    [request('POST', '/api/query/add', {}, '{}'), { status: 405, code: 'RUN_METHOD', allow: 'GET, HEAD, OPTIONS' }],
    [request('PROPFIND', '/raw'), { status: 405, code: 'RUN_METHOD', allow: 'PUT, OPTIONS' }],
    [request('DELETE', '/health'), { status: 405, code: 'RUN_METHOD', allow: 'GET, HEAD, OPTIONS' }],
    [request('POST', '/api/live/notes', {}, '{}'), { status: 405, code: 'RUN_METHOD', allow: 'GET, HEAD, OPTIONS' }],
    [request('GET', '/api/query/add'), { status: 400, code: 'RUN_ARGUMENTS' }],
    [request('GET', '/api/query/add?a=x'), { status: 400, code: 'RUN_ARGUMENTS' }],
    [request('GET', '/items/x'), { status: 400, code: 'RUN_ARGUMENTS' }],
    [request('POST', '/api/divide', {}, '{"a"'), { status: 400, code: 'RUN_ARGUMENTS' }],
    [request('POST', '/api/divide'), { status: 400, code: 'RUN_ARGUMENTS' }],
    [request('GET', '/api/live/notes?after_id=-1'), { status: 400, code: 'RUN_ARGUMENTS' }],
    [request('GET', '/api/query/%zz'), { status: 400, code: 'HTTP_PATH_INVALID' }],
    ['GET / HTTP/1.1\r\nconnection: close\r\n\r\n', { status: 400, code: 'HTTP_MALFORMED' }],
    ['this is not HTTP\r\n\r\n', { status: 400, code: 'HTTP_MALFORMED' }],
    [request('GET', '/', { host: 'elsewhere.invalid' }), { status: 403, code: 'HTTP_HOST_FORBIDDEN' }],
    [request('GET', '/', { origin: 'https://elsewhere.invalid' }), { status: 403, code: 'HTTP_ORIGIN_FORBIDDEN' }],
    [request('GET', '/api/live/notes?after_id=99'), { status: 410, code: 'RUN_LIVE_GONE' }],
    [request('POST', '/api/divide', {}, large), { status: 413, code: 'HTTP_BODY_TOO_LARGE' }],
    [request('PUT', '/raw', {}, large), { status: 413, code: 'HTTP_BODY_TOO_LARGE' }],
    [
      `${request('POST', '/points', chunked)}${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`,
      { status: 413, code: 'HTTP_BODY_TOO_LARGE' }
    ],
    [request('GET', `/${'x'.repeat(9_000)}`), { status: 414, code: 'HTTP_PATH_TOO_LONG' }],
    [
      request('POST', '/api/divide', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=1'),
      { status: 415, code: 'RUN_MEDIA_TYPE' }
    ],
    [
      request('POST', '/points', { 'content-type': 'text/plain' }, '[1]'),
      { status: 415, code: 'RUN_MEDIA_TYPE', hint: /application\/json/ }
    ],
    [
      request('POST', '/api/divide', { 'content-encoding': 'gzip' }, '{"a": 1, "b": 1}'),
      { status: 415, code: 'HTTP_MEDIA_TYPE' }
    ],
    [request('GET', '/', { 'x-large': 'x'.repeat(20_000) }), { status: 431, code: 'HTTP_HEADERS_TOO_LARGE' }],
    [request('POST', '/api/divide', {}, '{"a":1,"b":0}'), { status: 500, code: 'RUN_DIVISION_BY_ZERO' }],
    [request('POST', '/api/mutation/add_note', {}, '{"text":""}'), { status: 500, code: 'RUN_REFUSED' }]
  ]
  for (const [bytes, expected] of cases) {
    const name = bytes.split('\r\n', 1)[0]?.slice(0, 60) ?? ''
    isOneForm(t, `${name} (${expected.code})`, await sendRaw(port, bytes), expected)
  }
})

t.test('the request id of a client is in the error and in the lines of the log', async t => {
  const failed = JSON.parse(
    (await sendRaw(port, request('POST', '/api/divide', { 'x-request-id': 'from-the-client' }, '{"a":1,"b":0}'))).body
  )
  t.match(failed, { code: 'RUN_DIVISION_BY_ZERO', request_id: 'from-the-client' })
  t.match(await app.line(/"request_id":"from-the-client"/), /RUN_DIVISION_BY_ZERO/)
})

t.test('a call that exceeds its time limit fails in the same form', async t => {
  const short = await serveApp(t as never, SOURCE, { ...SETTINGS, ...SHORT })
  const at = Number(new URL(short.app).port)
  const head = `${request('GET', '/api/query/add', {}, '', at).trimEnd()}\r\ncontent-`
  const body = `${request('POST', '/api/divide', { 'content-length': '10' }, '', at)}{`
  const late = { status: 408, code: 'HTTP_REQUEST_TIMEOUT' }
  isOneForm(t, 'half a head', await sendRaw(at, head), late)
  isOneForm(t, 'half a body', await sendRaw(at, body), late)
  const endless = await sendRaw(at, request('POST', '/api/for_ever', {}, '{}', at))
  isOneForm(t, 'an endless function', endless, { status: 504, code: 'RUN_TIME_LIMIT' })
  t.match(endless.body, /1 s \(app-runtime\.time_limit_ms\)/, 'the message names the limit and its setting')
})

t.test('a valid body is accepted with any JSON content type, and without one', async t => {
  const body = '{"a":4,"b":2}'
  for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'application/merge-patch+json']) {
    const { status } = await sendRaw(port, request('POST', '/api/divide', { 'content-type': type }, body))
    t.equal(status, 200, type)
  }
  const length = `content-length: ${body.length}`
  const without = `POST /api/divide HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n${length}\r\n\r\n${body}`
  t.equal((await sendRaw(port, without)).status, 200)
  const raw = request('PUT', '/raw', { 'content-type': 'text/csv' }, 'a,b')
  t.equal((await sendRaw(port, raw)).body, '"a,b"', 'a route with `request` accepts any body')
})

t.test('HEAD returns the same status without a body', async t => {
  const { status, headers, body } = await sendRaw(port, request('HEAD', '/api/nothing'), false)
  t.equal(status, 404)
  t.ok(headers.get('x-request-id'))
  t.equal(body, '')
})

t.test('calls beyond the queue limit get 503 immediately, with a retry time', async t => {
  const busy = await serveApp(t as never, SOURCE, {
    ...SETTINGS,
    'app-runtime.threads': 1,
    'app-runtime.time_limit_ms': 60_000,
    'http.request_timeout_ms': 60_000
  })
  const at = Number(new URL(busy.app).port)
  const host = `host: 127.0.0.1:${at}\r\n`
  const loop = connect(at, '127.0.0.1')
  loop.write(`POST /api/for_ever HTTP/1.1\r\n${host}content-length: 0\r\n\r\n`)
  await once(loop, 'ready')
  const call = `GET /api/query/add?a=1 HTTP/1.1\r\n${host}\r\n`
  const crowd = Array.from({ length: 10 }, () => connect(at, '127.0.0.1'))
  t.teardown(() => {
    for (const socket of [loop, ...crowd]) socket.destroy()
  })
  for (const socket of [loop, ...crowd]) socket.on('error', () => undefined)
  for (const socket of crowd) socket.write(call.repeat(1_100))
  const limit = Date.now() + 60_000
  for (;;) {
    const probe = connect(at, '127.0.0.1')
    probe.on('error', () => undefined)
    probe.write(`GET /api/query/add?a=1 HTTP/1.1\r\n${host}connection: close\r\n\r\n`)
    const timer = new AbortController()
    const waited = new Promise<null>(resolve => {
      const timeout = setTimeout(resolve, 500, null)
      timer.signal.addEventListener('abort', () => clearTimeout(timeout))
    })
    // A retry that is accepted waits in the queue.
    const answer = await Promise.race([readAnswer(probe).catch(() => null), waited])
    timer.abort()
    probe.destroy()
    if (answer === null && Date.now() < limit) continue
    if (answer === null) throw new Error('no call was refused')
    isOneForm(t, 'overload', answer, { status: 503, code: 'RUN_BUSY' })
    t.match(answer.headers.get('retry-after'), /^\d+$/)
    break
  }
})
