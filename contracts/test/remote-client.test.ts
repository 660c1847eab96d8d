import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import {
  isRemoteFailure,
  RemoteClient,
  type RemoteClientOptions,
  type RemoteExchange,
  type RemoteFailure
} from '@svc/contracts'
import t, { type Test } from 'tap'

type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void

/** Starts a server that gives these answers in turn, then the last one again. */
async function world(t: Test, answers: readonly Answer[], options: Partial<RemoteClientOptions> = {}) {
  let requests = 0
  const server = createServer(async (request, response) => {
    const answer = answers[Math.min(requests++, answers.length - 1)]
    const body = await buffer(request).catch(() => Buffer.alloc(0))
    answer?.(request, response, body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const exchanges: RemoteExchange[] = []
  const client = new RemoteClient({
    service: 'Archive',
    signal: new AbortController().signal,
    firstDelayMs: 1,
    record: exchange => void exchanges.push(exchange),
    ...options
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { client, url, exchanges, requests: () => requests }
}

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_, response) =>
    response.writeHead(code, headers).end('{}')
const cut: Answer = request => request.socket.destroy()

async function failureOf(promise: Promise<unknown>): Promise<RemoteFailure> {
  const error = await promise.then(
    () => null,
    found => found
  )
  if (isRemoteFailure(error)) return error
  throw error ?? new Error('expected a failure')
}

t.test('requests are repeated after failures of the server, but a POST only if it certainly had no effect', async t => {
  const rows: readonly (readonly [Answer, 'GET' | 'PUT' | 'POST', number])[] = [
    [status(500), 'GET', 3],
    [status(503), 'PUT', 3],
    [cut, 'GET', 3],
    [status(429), 'POST', 3],
    [status(500), 'POST', 1],
    [cut, 'POST', 1],
    [status(404), 'GET', 1],
    [status(401), 'GET', 1]
  ]
  for (const [answer, method, expected] of rows) {
    const { client, url, requests } = await world(t, [answer])
    await failureOf(client.send({ method, url }))
    t.equal(requests(), expected, `${method} ${expected}`)
  }
  const { client, url, requests } = await world(t, [status(500), cut, status(200)])
  t.equal((await client.send({ method: 'POST', url, repeatable: true })).status, 200)
  t.equal(requests(), 3)
})

t.test('each status has a class, and says whether the request may have had its effect', async t => {
  const rows: readonly (readonly [number, string, boolean])[] = [
    [302, 'config', false],
    [400, 'fatal', false],
    [401, 'auth', false],
    [403, 'auth', false],
    [404, 'fatal', false],
    [409, 'fatal', false],
    [422, 'fatal', false],
    [429, 'rate_limit', false],
    [500, 'transient', true],
    [503, 'transient', true]
  ]
  for (const [code, failureClass, outcomeUnknown] of rows) {
    const { client, url } = await world(t, [status(code)], { attempts: 1 })
    const failure = await failureOf(client.send({ method: 'POST', url }))
    t.match(failure, { failureClass, outcomeUnknown, httpStatus: code, code: `http_${code}` })
  }
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}/`
  closed.close()
  await once(closed, 'close')
  const { client } = await world(t, [status(200)], { attempts: 1 })
  const unsent = await failureOf(client.send({ method: 'POST', url }))
  t.match(unsent, { failureClass: 'transient', outcomeUnknown: false })
})

t.test('Retry-After is seconds or a date; a long one is left to the caller', async t => {
  const { client, url, requests } = await world(t, [status(429, { 'retry-after': '3600' })])
  t.equal((await failureOf(client.send({ method: 'GET', url }))).retryAfterMs, 3_600_000)
  t.equal(requests(), 1)
  const date = new Date(Date.now() + 3_600_000).toUTCString()
  const dated = await world(t, [status(503, { 'retry-after': date })])
  const { retryAfterMs = 0 } = await failureOf(dated.client.send({ method: 'GET', url: dated.url }))
  t.ok(retryAfterMs > 3_500_000 && retryAfterMs <= 3_600_000)
  for (const endless of ['9'.repeat(400), '99999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT']) {
    const long = await world(t, [status(429, { 'retry-after': endless })])
    t.equal((await failureOf(long.client.send({ method: 'GET', url: long.url }))).retryAfterMs, 86_400_000)
  }
  const past = await world(t, [status(429, { 'retry-after': new Date(0).toUTCString() }), status(200)])
  t.equal((await past.client.send({ method: 'GET', url: past.url })).status, 200)
})

t.test('requests name the program, unless the caller names another one', async t => {
  const agent: Answer = ({ headers }, response) => response.end(headers['user-agent'])
  const { client, url } = await world(t, [agent])
  t.equal((await client.send({ method: 'GET', url })).text, 'svc')
  t.equal((await client.send({ method: 'GET', url, headers: { 'user-agent': 'linux:news:v1' } })).text, 'linux:news:v1')
})

t.test('only HTTPS is used, except on this machine, and redirects are not followed', async t => {
  const { client, url, requests } = await world(t, [status(302, { location: 'https://elsewhere.example/' })])
  for (const refused of ['http://archive.example/', 'ftp://archive.example/', 'https://user:pw@archive.example/', 'x'])
    t.match(await failureOf(client.send({ method: 'GET', url: refused })), {
      failureClass: 'config',
      code: 'url_refused'
    })
  t.equal(requests(), 0)
  t.match(await failureOf(client.send({ method: 'GET', url })), { failureClass: 'config', code: 'http_302' })
  t.equal(requests(), 1)
})

t.test('answers are limited in size and time, and a server that sends nothing is given up', async t => {
  const endless: Answer = (_, response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      response.once('drain', write)
    }
    write()
  }
  const large = await world(t, [endless], { attempts: 1 })
  t.match(await failureOf(large.client.send({ method: 'GET', url: large.url })), { code: 'answer_too_large' })
  t.match(large.exchanges, [{ http_status: 200, error_class: 'fatal' }])
  const trickle: Answer = (_, response) => {
    const timer = setInterval(() => response.write(' '), 5)
    response.once('close', () => clearInterval(timer))
  }
  const slow = await world(t, [trickle], { attempts: 1, silenceMs: 5_000, answerMs: 100 })
  t.match(await failureOf(slow.client.send({ method: 'GET', url: slow.url })), {
    failureClass: 'transient',
    code: 'timeout',
    message: /longer than 100 ms/,
    outcomeUnknown: true
  })
  const silent = await world(t, [() => {}], { attempts: 1, silenceMs: 50 })
  t.match(await failureOf(silent.client.send({ method: 'GET', url: silent.url })), {
    code: 'timeout',
    message: /no data/
  })
})

t.test('a file is streamed with its length, and one that changed is never sent completely', async t => {
  const received: Buffer[] = []
  const keep: Answer = (request, response, body) => {
    received.push(body)
    response.end(request.headers['content-length'])
  }
  const { client, url } = await world(t, [keep])
  const path = join(t.testdir({}), 'file')
  const content = Buffer.alloc(300_000, 'a')
  writeFileSync(path, content)
  const sha3_256 = createHash('sha3-256').update(content).digest('hex')
  const file = { path, bytes: content.length, sha3_256 }
  const sent: number[] = []
  const answer = await client.send({ method: 'PUT', url, body: file, onSent: bytes => void sent.push(bytes) })
  t.equal(answer.text, '300000')
  t.equal(sent.at(-1), 300_000)
  t.ok(received[0]?.equals(content))
  writeFileSync(path, Buffer.alloc(300_000, 'b'))
  t.match(await failureOf(client.send({ method: 'PUT', url, body: file })), {
    failureClass: 'fatal',
    code: 'file_changed'
  })
  t.notOk(received.some(body => body.includes('b') && body.length === 300_000))
  rmSync(path)
  t.match(await failureOf(client.send({ method: 'PUT', url, body: file })), {
    failureClass: 'fatal',
    code: 'file_unreadable',
    outcomeUnknown: false
  })
})

t.test('exchanges are recorded as hashes, without query, header or body, and errors contain none of them', async t => {
  const secret = 'token-1234'
  const echo: Answer = (_, response) => response.writeHead(400).end(secret)
  const { client, url, exchanges } = await world(t, [echo])
  const request = {
    method: 'POST',
    url: `${url}/a?key=${secret}`,
    headers: { authorization: secret },
    body: secret
  } as const
  const failure = await failureOf(client.send(request))
  t.notMatch(JSON.stringify([exchanges, failure, failure.message, failure.stack]), secret)
  t.match(exchanges, [{ method: 'POST', url: `${url}/a`, http_status: 400, request_fingerprint: /^[0-9a-f]{64}$/ }])
  await failureOf(client.send(request))
  t.equal(exchanges[1]?.request_fingerprint, exchanges[0]?.request_fingerprint)
  await failureOf(client.send({ ...request, body: 'other' }))
  t.not(exchanges[2]?.request_fingerprint, exchanges[0]?.request_fingerprint)
})

t.test('a credential that is no valid header is reported without its value, and nothing is sent', async t => {
  const { client, url, requests } = await world(t, [status(200)])
  for (const token of ['known\ntoken', 'known\u0000token', 'known\u2026token']) {
    const failure = await failureOf(
      client.send({ method: 'POST', url, headers: { authorization: `Bearer ${token}` }, body: 'x' })
    )
    t.match(failure, { code: 'header_invalid', failureClass: 'config', outcomeUnknown: false })
    t.notMatch(`${failure.message}${failure.stack}`, /known/)
  }
  t.equal(requests(), 0)
  t.equal((await client.send({ method: 'GET', url, headers: { authorization: 'Bearer token\n' } })).status, 200)
})

t.test('an abort ends a request and its delays, with the reason of the signal', async t => {
  const abort = new AbortController()
  const reason = new Error('stopped')
  const { client, url } = await world(t, [status(503)], { signal: abort.signal, firstDelayMs: 60_000, attempts: 10 })
  const sending = client.send({ method: 'GET', url })
  setImmediate(() => abort.abort(reason))
  await t.rejects(sending, reason)
  await t.rejects(client.send({ method: 'GET', url }), reason)
})

t.test('a request that an abort interrupts is recorded, and none is sent after an abort', async t => {
  const abort = new AbortController()
  const reason = new Error('stopped')
  const interrupted = await world(t, [() => abort.abort(reason)], { signal: abort.signal })
  await t.rejects(interrupted.client.send({ method: 'POST', url: interrupted.url, body: 'x' }), reason)
  t.match(interrupted.exchanges, [{ method: 'POST', http_status: null, error_class: 'transient' }])
  const late = new AbortController()
  const beforeAttempt = async () => late.abort(reason)
  const checked = await world(t, [status(200)], { signal: late.signal, beforeAttempt })
  await t.rejects(checked.client.send({ method: 'POST', url: checked.url, body: 'x' }), reason)
  t.equal(checked.requests(), 0)
})

t.test('what a queue checks before an attempt can stop it', async t => {
  const lost = new Error('lease lost')
  const { client, url, requests } = await world(t, [status(503)], {
    beforeAttempt: () => {
      if (requests() > 0) throw lost
    }
  })
  await t.rejects(client.send({ method: 'GET', url }), lost)
  t.equal(requests(), 1)
})
