import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { echo, type Generate, llamaMetrics, modelServer, send, vllmMetrics } from './model-servers.ts'
import { openRouter } from './open-router.ts'
import { until } from './until.ts'

/** Answers with a status. */
const status =
  (code: number, headers: object = {}): Generate =>
  response =>
    send(response, code, { error: `status ${code}` }, headers)

/** Sends one piece of an answer, then waits until the connection closes. */
const endless: Generate = response => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write('data: {"choices":[]}\n\n')
}

for (const [what, generate] of [
  ['closes the connection before the response', response => void response.destroy()],
  [
    'closes the connection after the head of the response, before its first byte',
    response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      setTimeout(() => response.destroy(), 20)
    }
  ],
  ['responds with 429', status(429)],
  ['responds with 502', status(502)],
  ['responds with 503', status(503)]
] as readonly [string, Generate][]) {
  t.test(`another server is tried if the first one ${what}`, async t => {
    const bad = await modelServer(t, { api: 'openai', models: ['m'], generate })
    const good = await modelServer(t, { api: 'openai', models: ['m'] })
    const { chat, servers } = await openRouter(t, { bad, good })
    for (let turn = 0; turn < 12; turn++) {
      t.match(await chat('m', `question ${turn}`), { status: 200, server: 'good', text: /\[DONE\]/ })
    }
    t.ok(bad.received.length > 0, 'the bad server was tried')
    t.equal(good.received.length, 12)
    t.match(await servers(), [
      { name: 'bad', retries: bad.received.length, in_flight: 0 },
      { name: 'good', retries: 0, in_flight: 0 }
    ])
  })
}

t.test('at most two further servers are tried; the client receives the last response', async t => {
  const options = { api: 'openai', models: ['m'], generate: status(502) } as const
  const all = await Promise.all([1, 2, 3, 4].map(() => modelServer(t, { ...options })))
  const { chat } = await openRouter(t, Object.fromEntries(all.map((each, at) => [`s${at}`, each])))
  const { status: code, text } = await chat('m', 'x')
  t.equal(code, 502)
  t.same(JSON.parse(text), { error: 'status 502' })
  t.equal(
    all.reduce((sum, { received }) => sum + received.length, 0),
    3
  )
})

t.test('other failures reach the client: the request is wrong, not the server', async t => {
  for (const code of [400, 404, 413, 500]) {
    const one = await modelServer(t, { api: 'openai', models: ['m'], generate: status(code) })
    const two = await modelServer(t, { api: 'openai', models: ['m'], generate: status(code) })
    const { chat } = await openRouter(t, { one, two })
    t.match(await chat('m', 'x'), { status: code, text: `{"error":"status ${code}"}` })
    t.equal(one.received.length + two.received.length, 1)
  }
})

t.test('a server that dies after the first byte is not replaced: the client sees the cut', async t => {
  const generate: Generate = response => {
    endless(response, { path: '', headers: {}, body: {} })
    setTimeout(() => response.destroy(), 20)
  }
  const one = await modelServer(t, { api: 'openai', models: ['m'], generate })
  const two = await modelServer(t, { api: 'openai', models: ['m'], generate })
  const { post, servers } = await openRouter(t, { one, two })
  const response = await post('/v1/chat/completions', { model: 'm', stream: true, messages: [] })
  t.equal(response.status, 200)
  await t.rejects(response.text(), 'the answer has no end')
  t.equal(one.received.length + two.received.length, 1)
  await until(async () => (await servers()).some(({ failures }) => failures === 1))
})

t.test('a server that is down is replaced, and used again when it is back', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['m'] })
  const two = await modelServer(t, { api: 'openai', models: ['m'] })
  const { chat, servers } = await openRouter(t, { one, two })
  await one.kill()
  for (let turn = 0; turn < 8; turn++) t.match(await chat('m', `q ${turn}`), { status: 200, server: 'two' })
  await one.restart()
  await until(async () => (await servers()).every(each => each.status === 'ready'))
  await two.kill()
  t.match(await chat('m', 'x'), { status: 200, server: 'one' })
})

t.test('without a server that works, the error names every server and its problem', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['m'] })
  const two = await modelServer(t, { api: 'openai', models: ['m'] })
  const { chat, servers } = await openRouter(t, { one, two })
  await one.kill()
  await two.kill()
  const { status: code, text } = await chat('m', 'x')
  t.equal(code, 502)
  t.match(JSON.parse(text).error, {
    code: 'IRT_SERVER_FAILED',
    message: /(?=.*one: [^;]*ECONNREFUSED)(?=.*two: [^;]*ECONNREFUSED)/
  })
  while ((await servers()).some(({ status }) => status !== 'open')) await chat('m', 'x')
  const response = await chat('m', 'x')
  t.match(response, { status: 503, text: /IRT_UNAVAILABLE/ })
})

t.test('Retry-After is obeyed: the server receives nothing until then, and the client learns when', async t => {
  const busy = await modelServer(t, { api: 'openai', models: ['m'], generate: status(503, { 'retry-after': '30' }) })
  const { post, servers } = await openRouter(t, { busy })
  const body = { model: 'm', messages: [] }
  const first = await post('/v1/chat/completions', body)
  t.match([first.status, first.headers.get('retry-after')], [503, '30'])
  const second = await post('/v1/chat/completions', body)
  t.equal(second.status, 503)
  const seconds = Number(second.headers.get('retry-after'))
  t.ok(seconds > 25 && seconds <= 30, `${seconds} s`)
  t.equal(busy.received.length, 1)
  t.match(await servers(), [{ status: 'paused', failures: 0 }])
})

t.test('when the client leaves, the server is aborted before and after the first byte', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['m'] })
  const { post, servers } = await openRouter(t, { one })
  for (const generate of [endless, () => undefined] as Generate[]) {
    const before = one.left
    one.options.generate = generate
    const leave = new AbortController()
    const asked = one.received.length
    const sent = post('/v1/chat/completions', { model: 'm', stream: true, messages: [] }, { signal: leave.signal })
    const answer = sent.then(response => response.text())
    await until(() => one.received.length > asked)
    if (generate === endless) await sent
    leave.abort()
    await t.rejects(answer)
    await until(() => one.left > before)
  }
  await until(async () => (await servers())[0]?.in_flight === 0)
  t.match(await servers(), [{ failures: 0, status: 'ready' }])
})

t.test('a server that accepts connections but sends nothing ends in 504', async t => {
  const silent = await modelServer(t, { api: 'openai', models: ['m'], generate: () => undefined })
  const { chat } = await openRouter(t, { silent }, { idle_timeout_seconds: 0.1 })
  t.match(await chat('m', 'x'), { status: 504, text: /silent: no bytes for 0\.1 s.*IRT_SERVER_TIMEOUT/ })
})

t.test('a client that stops reading is disconnected, and its server aborted', async t => {
  const piece = 'x'.repeat(65_536)
  const flood: Generate = response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  }
  const one = await modelServer(t, { api: 'openai', models: ['m'], generate: flood })
  const { post } = await openRouter(t, { one }, { stall_seconds: 0.1 })
  const response = await post('/v1/chat/completions', { model: 'm', stream: true, messages: [] })
  await until(() => one.left === 1)
  await t.rejects(response.text())
})

t.test('a kept connection that the server closes in between is opened again on the same server', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['m'] })
  // A raw server: it answers one request on each connection, keeps it open, and resets it at the second request.
  const sockets: Socket[] = []
  const raw = createServer(socket => {
    let count = 0
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', bytes => {
      const head = bytes.toString('latin1')
      if (head.startsWith('GET')) {
        const body = JSON.stringify({ object: 'list', data: [{ id: 'm' }] })
        socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
        return
      }
      count += 1
      if (count > 1) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  await new Promise<void>(resolve => raw.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    raw.close()
  })
  const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`
  const { chat, servers } = await openRouter(t, { raw: { url, options: { api: 'openai' } } })
  for (let turn = 0; turn < 4; turn++) t.match(await chat('m', 'x'), { status: 200, server: 'raw', text: 'ok' })
  t.match(await servers(), [{ failures: 0, retries: 0 }])
  t.equal(one.received.length, 0)
})

for (const [what, head] of [
  ['a status that HTTP does not have', 'HTTP/1.1 099 Odd\r\ncontent-length: 2\r\n\r\nok'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
  ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`],
  ['no HTTP', '\u0000\u0001\u0002\r\n\r\n']
] as const) {
  t.test(`a server that answers with ${what} keeps no slot`, async t => {
    const sockets: Socket[] = []
    const raw = createServer(socket => {
      sockets.push(socket)
      socket.on('error', () => undefined)
      socket.on('data', bytes => {
        const body = JSON.stringify({ object: 'list', data: [{ id: 'm' }] })
        const isFacts = bytes.toString('latin1').startsWith('GET')
        socket.write(isFacts ? `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}` : head)
      })
    })
    await new Promise<void>(resolve => raw.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
      raw.close()
    })
    const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`
    const { chat, servers } = await openRouter(t, { raw: { url, options: { api: 'openai' } } })
    t.match(await chat('m', 'x'), { status: 502, text: /IRT_SERVER_FAILED/ })
    t.match(await servers(), [{ in_flight: 0, failures: 1 }])
    const good = await modelServer(t, { api: 'openai', models: ['m'] })
    const both = await openRouter(t, { raw: { url, options: { api: 'openai' } }, good })
    for (let turn = 0; turn < 6; turn++) t.match(await both.chat('m', `x${turn}`), { status: 200, server: 'good' })
  })
}

t.test('slow facts delay neither requests nor the facts of other servers', async t => {
  const proceed: (() => void)[] = []
  const slow = await modelServer(t, {
    api: 'openai',
    models: ['m'],
    beforeFacts: () => new Promise<void>(resolve => proceed.push(resolve))
  })
  const fast = await modelServer(t, { api: 'openai', models: ['m'] })
  const { chat, servers } = await openRouter(t, { slow, fast })
  const before = fast.facts.length
  await until(() => fast.facts.length > before + 3)
  t.match(await chat('m', 'x'), { server: 'fast' })
  t.match((await servers())[0], { name: 'slow', status: 'unknown', detail: /longer than 600 ms/ })
  for (const next of proceed) next()
})

t.test('a server with old facts is only the last resort', async t => {
  let fails = false
  const beforeFacts = () => {
    if (fails) throw new Error('no facts')
  }
  const old = await modelServer(t, { api: 'openai', models: ['m', 'only-old'], beforeFacts })
  const fresh = await modelServer(t, { api: 'openai', models: ['m'] })
  const { chat, servers } = await openRouter(t, { old, fresh })
  fails = true
  await until(async () => (await servers())[0]?.status === 'stale')
  for (let turn = 0; turn < 8; turn++) t.match(await chat('m', `q ${turn}`), { server: 'fresh' })
  t.match(await chat('only-old', 'x'), { status: 200, server: 'old' })
  await fresh.kill()
  t.match(await chat('m', 'x'), { status: 200, server: 'old' })
})

t.test('a server that restarts with another model no longer receives the old one, nor its prefixes', async t => {
  const system = 'You are careful. '.repeat(200)
  const one = await modelServer(t, { api: 'vllm', models: ['a', 'b'], metrics: vllmMetrics({ started: 1 }) })
  const two = await modelServer(t, { api: 'vllm', models: ['a', 'b'], metrics: vllmMetrics({ started: 1 }) })
  const { chat, probed } = await openRouter(t, { one, two })
  const { server: home } = await chat('a', system)
  for (let turn = 0; turn < 3; turn++) t.equal((await chat('a', `${system}${turn}`)).server, home, 'prefix affinity')
  const restarted = home === 'one' ? one : two
  restarted.options.models = ['b']
  restarted.options.metrics = vllmMetrics({ started: 2 })
  await probed()
  t.not((await chat('a', system)).server, home)
})

t.test('load that servers report moves requests away from them', async t => {
  const idle = await modelServer(t, { api: 'llama.cpp', models: ['m'], metrics: llamaMetrics(), slots: [{}, {}] })
  const full = await modelServer(t, {
    api: 'llama.cpp',
    models: ['m'],
    metrics: llamaMetrics({ processing: 2, deferred: 5 }),
    slots: [{}, {}]
  })
  const { chat, servers } = await openRouter(t, { idle, full })
  for (let turn = 0; turn < 8; turn++) t.match(await chat('m', `q ${turn}`), { server: 'idle' })
  t.match(await servers(), [
    { name: 'idle', load: 0, slots: 2 },
    { name: 'full', load: 7, slots: 2 }
  ])
})

t.test('an adapter is served where it is in memory, and a model where it is loaded', async t => {
  const adapters = { sql: 'base', legal: 'base' }
  const models = ['base', 'sql', 'legal']
  const one = await modelServer(t, { api: 'vllm', models, adapters, metrics: vllmMetrics({ running_adapters: 'sql' }) })
  const two = await modelServer(t, {
    api: 'vllm',
    models,
    adapters,
    metrics: vllmMetrics({ running_adapters: 'legal' })
  })
  const { chat } = await openRouter(t, { one, two })
  for (let turn = 0; turn < 6; turn++) {
    t.match(await chat('sql', `q ${turn}`), { server: 'one' })
    t.match(await chat('legal', `q ${turn}`), { server: 'two' })
  }
  const cold = await modelServer(t, { api: 'ollama', models: ['llama3', 'other'], loaded: ['other'] })
  const warm = await modelServer(t, { api: 'ollama', models: ['llama3', 'other'], loaded: ['llama3'] })
  const second = await openRouter(t, { cold, warm })
  for (let turn = 0; turn < 6; turn++) {
    t.match(await second.chat('llama3', `q ${turn}`), { server: 'warm' })
    t.match(await second.chat('other', `q ${turn}`), { server: 'cold' })
  }
})

t.test('above the limit of requests in flight, requests get 503 and the others continue', async t => {
  const waiting: (() => void)[] = []
  const generate: Generate = async (response, request) => {
    await new Promise<void>(resolve => waiting.push(resolve))
    await echo(response, request)
  }
  const one = await modelServer(t, { api: 'openai', models: ['m'], generate })
  const { chat, post } = await openRouter(t, { one }, { max_in_flight: 2 })
  const running = [chat('m', 'a'), chat('m', 'b')]
  await until(() => waiting.length === 2)
  const refused = await post('/v1/chat/completions', { model: 'm', messages: [] })
  t.match([refused.status, refused.headers.get('retry-after')], [503, '1'])
  t.match(await refused.json(), { error: { code: 'IRT_BUSY' } })
  for (const next of waiting) next()
  for (const each of await Promise.all(running)) t.equal(each.status, 200)
})
