import { connect } from 'node:net'
import t from 'tap'
import { examplePlugin } from './example-plugin.ts'
import { startMcp } from './start-mcp.ts'

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } }
}
const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
const VERSION = { 'mcp-protocol-version': '2025-11-25' }

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

t.test('invalid bodies get protocol errors', async t => {
  const { post, url } = await startMcp(t, [], { max_body_bytes: 2048 })
  for (const body of ['', '{', 'hello', '{"jsonrpc":"2.0","id":1,"method":', '\u0000']) {
    const response = await post(body)
    t.equal(response.status, 400, JSON.stringify(body))
    t.match(await response.json(), { jsonrpc: '2.0', id: null, error: { code: -32700 } })
  }
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0xc0, 0x80],
    [0xef, 0xbb]
  ]) {
    const response = await fetch(url, { method: 'POST', headers: JSON_HEADERS, body: Buffer.from(bytes) })
    t.match(await response.json(), { id: null, error: { code: -32700 } }, 'not UTF-8')
  }
  for (const body of ['7', '"x"', 'null', '{}', '[]', '[1]', '{"jsonrpc":"1.0","id":1,"method":"ping"}']) {
    const response = await post(body)
    t.equal(response.status, 400, body)
    t.match(await response.json(), { jsonrpc: '2.0', error: { code: Number } }, body)
  }
  const large = await post({ ...list, params: { padding: 'x'.repeat(4096) } })
  t.equal(large.status, 413)
  t.match(await large.json(), { error: { code: -32000 } })
  const text = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(list),
    headers: { 'content-type': 'text/plain' }
  })
  t.equal(text.status, 415)
  t.match(await text.json(), { error: { code: -32000 } })
  t.equal((await fetch(url, { method: 'PUT' })).status, 404)
  t.equal((await post(list)).status, 200, 'the server still serves')
})

t.test('a request of the 2025 protocol needs no session', async t => {
  const { post } = await startMcp(t)
  const response = await post(list, VERSION)
  t.equal(response.headers.get('mcp-session-id'), null)
  t.match(await response.text(), /"test_simple_text"/)
})

t.test('sessions', async t => {
  const { post, url, http } = await startMcp(t, [], { max_sessions: 2 })
  const begin = async (): Promise<Record<string, string>> => {
    const response = await post(initialize)
    t.match(await response.text(), /"svc-mcp"/)
    const session = { 'mcp-session-id': response.headers.get('mcp-session-id') as string, ...VERSION }
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)
    return session
  }
  const status = async (session: Record<string, string>): Promise<number> => {
    const response = await post(list, session)
    await response.text()
    return response.status
  }

  const first = await begin()
  t.match(first['mcp-session-id'], /^[0-9a-f-]{36}$/)
  t.equal(await status(first), 200)
  t.equal(await status({ 'mcp-session-id': 'nobody', ...VERSION }), 404)

  const owner = http.principal
  http.principal = { id: 'another principal', role: 'owner', scopes: ['*'] }
  t.equal(await status(first), 404, 'a session of another principal is unknown')
  http.principal = owner

  t.equal((await fetch(url, { method: 'DELETE', headers: first })).status, 200)
  t.equal(await status(first), 404, 'ended')

  const [second, third] = [await begin(), await begin()]
  const stream = await fetch(url, { headers: { ...second, accept: 'text/event-stream' } })
  t.equal(stream.status, 200)
  await begin()
  t.equal(await status(third), 404, 'the session with the longest idle time is dropped')
  t.equal(await status(second), 200, 'a session with an open stream stays')
  await stream.body?.cancel()

  const refused = await post({ ...initialize, params: {} })
  t.equal(
    refused.headers.get('mcp-session-id') === null || refused.status >= 400,
    true,
    'a failed initialize creates no session'
  )
})

t.test('a session receives missed notifications when it opens a stream', async t => {
  const { post, url, kernel, reload } = await startMcp(t, [examplePlugin()])
  const response = await post(initialize)
  await response.text()
  const session = { 'mcp-session-id': response.headers.get('mcp-session-id') as string, ...VERSION }
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)
  const listen = async (): Promise<ReadableStreamDefaultReader<string>> => {
    const { body } = await fetch(url, { headers: { ...session, accept: 'text/event-stream' } })
    return (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  }
  const next = async (stream: ReadableStreamDefaultReader<string>): Promise<string> => {
    let text = ''
    // The first event of a stream has no data.
    while (!text.includes('notifications/')) {
      const { done, value } = await stream.read()
      if (done) return text
      text += value
    }
    return text
  }

  for (const extra of ['before_any', 'still_before']) await kernel.replace(examplePlugin({ extra }))
  const first = await listen()
  t.match(await next(first), 'notifications/tools/list_changed')
  await kernel.replace(examplePlugin({ extra: 'while_it_listens' }))
  t.match(await next(first), 'notifications/tools/list_changed')

  await reload()
  t.equal(await next(first), '', 'the reload ends the stream, and no notification is repeated')
  await kernel.replace(examplePlugin({ extra: 'in_between' }))
  const second = await listen()
  t.match(await next(second), 'notifications/tools/list_changed')
  await second.cancel()
})

t.test('idle sessions are dropped', async t => {
  const { post } = await startMcp(t, [], { session_idle_ms: 10 })
  const response = await post(initialize)
  await response.text()
  const session = { 'mcp-session-id': response.headers.get('mcp-session-id') as string, ...VERSION }
  for (;;) {
    // A request would reset the idle time, so the test waits for the sweep.
    await new Promise(resolve => setTimeout(resolve, 40))
    const again = await post(list, session)
    await again.text()
    if (again.status === 404) break
  }
  t.pass('forgotten')
})

t.test('a client that disconnects during its request causes no error', async t => {
  const { post, url } = await startMcp(t)
  const { port } = new URL(url)
  for (const part of ['{"jsonrpc"', '']) {
    const socket = connect(Number(port), '127.0.0.1')
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n`
    await new Promise(resolve => socket.write(head + part, resolve))
    socket.resetAndDestroy()
  }
  t.equal((await post(list)).status, 200)
})

t.test('an error of a tool has the request id, and the access record its code', async t => {
  const { post, http } = await startMcp(t, [examplePlugin()])
  const call = async (id: string, name: string, args: object = {}): Promise<string> => {
    const body = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name, arguments: args } }
    const response = await post(body, { ...VERSION, 'x-request-id': id })
    return response.text()
  }
  t.match(await call('r-1', 'example_greet', { name: 7 }), /"svc\/error":\{[^}]*"request_id":"r-1"/)
  t.match(await call('r-2', 'raw_guarded', { size: -1 }), /"svc\/error":\{[^}]*"request_id":"r-2"/)
  t.match(await call('r-3', 'raw_guarded', { size: 'x' }), /"svc\/error":\{[^}]*"request_id":"r-3"/)
  t.match(await call('r-4', 'example_greet', { name: 'Ada' }), /Hello, Ada/)
  t.match(await call('r-5', 'svc_no_such_tool'), /\\"request_id\\": \\"r-5\\"/)
  t.equal((await post('{')).status, 400)
  t.equal((await post('7')).status, 400)
  t.same(http.codes, [
    'OPR_INPUT_INVALID',
    'EXAMPLE_NEGATIVE',
    'MCP_TOOL_FAILED',
    'MCP_TOOL_UNKNOWN',
    'HTTP_BODY_INVALID',
    'MCP_REQUEST_REJECTED'
  ])
})
