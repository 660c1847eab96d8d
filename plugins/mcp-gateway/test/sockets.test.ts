import { EventEmitter, once } from 'node:events'
import mcp from '@svc/plugin-mcp'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import gateway from '#plugin'
import { EventSource, openWorld, READ, toolsPlugin, WRITE } from './world.ts'

const LOCAL = 'http://localhost:3000'

t.test('a websocket lists and calls tools, and every reply has the id of its message', async t => {
  const world = await openWorld(t)
  const socket = await world.connect()
  t.same(await socket.ask({ id: 'a', type: 'list_tools' }), {
    id: 'a',
    type: 'list_tools_result',
    success: true,
    is_error: false,
    data: { tools: ['svc_cancel_task', 'svc_orchestrator_status', 'svc_rebalance', 'svc_task_status'] }
  })
  t.same(await socket.ask({ type: 'call_tool', name: 'task_status', args: {} }), {
    type: 'call_tool_result',
    success: true,
    is_error: false,
    data: { success: true, data: { did: 'task_status', by: 'first' } }
  })
  t.match(await socket.ask({ id: 3, type: 'call_tool', name: 'svc_rebalance', args: { text: 'fail' } }), {
    id: 3,
    success: false,
    is_error: true,
    data: { success: false, error: 'not today', meta: { code: 'WORLD_REFUSED' } },
    error: 'not today'
  })
  t.match(await socket.ask({ id: 4, type: 'call_tool', name: 'svc_submit_task' }), {
    success: false,
    error: /not allowed here: svc_submit_task/
  })

  const refusals: [unknown, string, RegExp][] = [
    [{ id: 5, type: 'call_tool' }, 'call_tool_result', /^missing tool name$/],
    [{ id: 6, type: 'call_tool', name: 'x', args: [] }, 'call_tool_result', /args has to be an object/],
    [{ id: 7, type: 'subscribe' }, 'error', /^unsupported message type: subscribe$/],
    ['{"type":', 'error', /^invalid websocket payload: /],
    ['[1]', 'error', /^invalid websocket payload: an object/],
    [{ id: 8 }, 'error', /^invalid websocket payload: type/]
  ]
  for (const [message, type, error] of refusals) {
    t.match(await socket.ask(message), { type, success: false, is_error: true, data: null, error })
  }
  socket.socket.send(Buffer.from('{"type":"list_tools"}'))
  t.match(await socket.next(), { type: 'error', error: /text is expected/ })
})

t.test('a page sends its token in the first message, or is disconnected', async t => {
  const world = await openWorld(t)
  const open = (options = {}) => world.connect({ token: null, origin: LOCAL, ...options })
  for (const [token, tools] of [
    [WRITE, 4],
    [READ, 2]
  ] as const) {
    const page = await open()
    page.send({ type: 'auth', args: { token } })
    const { data } = await page.ask({ type: 'list_tools' })
    t.equal((data as { tools: unknown[] }).tools.length, tools)
    page.send({ type: 'auth', args: { token: 'anything' } })
    t.match(await page.ask({ type: 'list_tools' }), { success: true }, 'a second token has no effect')
  }
  for (const first of [
    { type: 'auth', args: { token: 'wrong' } },
    { type: 'auth' },
    { type: 'list_tools' },
    { type: 'call_tool', name: 'svc_rebalance' },
    'nonsense'
  ]) {
    const page = await open()
    page.send(first)
    t.same(await page.closed, { code: 4401, reason: 'Unauthorized' })
  }
  const wrongHeader = await open({ token: 'wrong' })
  wrongHeader.send({ type: 'list_tools' })
  t.equal((await wrongHeader.closed).code, 4401)
})

t.test('a handshake must pass the same checks as a request', async t => {
  const refused = async (
    world: Awaited<ReturnType<typeof openWorld>>,
    options: object,
    status: number,
    error: string
  ) =>
    t.match(await world.connect(options).catch(refusal => refusal), { status, body: JSON.stringify({ error }) }, error)
  const world = await openWorld(t, { rate_limit_per_minute: 2 })
  await refused(world, { origin: 'https://evil.example' }, 403, 'origin_denied')
  await refused(world, { token: null }, 403, 'origin_denied')
  await refused(world, { token: 'wrong' }, 403, 'origin_denied')
  await refused(world, { headers: { host: 'evil.example' } }, 403, 'host_denied')
  const socket = await world.connect()
  t.match(await socket.ask({ type: 'list_tools' }), { success: true })
  await refused(world, {}, 429, 'rate limit exceeded (max 2 requests/minute)')
  t.match(await socket.ask({ type: 'list_tools' }), {
    type: 'error',
    success: false,
    error: 'rate limit exceeded (max 2 requests/minute)'
  })
  t.equal((await socket.closed).code, 1008)

  const behindProxy = await openWorld(t, { require_forwarded_https: true, max_websockets: 1 })
  await refused(behindProxy, {}, 403, 'https is required: the header X-Forwarded-Proto must say https')
  const https = { headers: { 'x-forwarded-proto': 'https' } }
  const first = await behindProxy.connect(https)
  await refused(behindProxy, https, 503, 'too many websockets are open')
  first.socket.close()
  await first.closed
  const again = async (): Promise<unknown> => behindProxy.connect(https).catch(again)
  t.ok(await again(), 'a closed websocket makes room for a new one')

  const open = await openWorld(t, { allow_unauthenticated: true }, { tokens: false })
  await refused(open, { token: null }, 403, 'origin_denied')
  const page = await open.connect({ token: null, origin: LOCAL })
  t.match(await page.ask({ type: 'list_tools' }), { success: true }, 'a page needs no token if none is required')
})

t.test('events of the orchestrator reach clients that may see its state', async t => {
  const source = new EventSource()
  const world = await openWorld(t, {}, { plugins: [toolsPlugin(), source.plugin] })
  const writer = await world.connect()
  const reader = await world.connect({ token: READ })
  const stranger = await world.connect({ token: null, origin: LOCAL })
  const event = source.emit()
  const pushed = { type: 'agent_event', success: true, is_error: false, data: event }
  t.same(await writer.next(), pushed)
  t.same(await reader.next(), pushed)

  stranger.send({ type: 'auth', args: { token: READ } })
  t.match(
    await stranger.ask({ id: 1, type: 'list_tools' }),
    { type: 'list_tools_result' },
    'earlier events are not sent'
  )

  const other = new EventSource()
  await world.kernel.replace(other.plugin)
  t.equal(source.listeners.size, 0, 'the listener of the old orchestrator is removed')
  other.emit('of the next one')
  t.match(await reader.next(), { data: { kind: { description: 'of the next one' } } })

  const held = await openWorld(t, { allowed_tools: ['svc_rebalance'] }, { plugins: [toolsPlugin(), source.plugin] })
  const blind = await held.connect()
  source.emit()
  t.match(
    await blind.ask({ id: 1, type: 'list_tools' }),
    { type: 'list_tools_result' },
    'clients without the right receive no events'
  )
})

t.test('a client that does not read is cut off at the limit of its buffer', async t => {
  const source = new EventSource()
  const world = await openWorld(t, {}, { plugins: [toolsPlugin(), source.plugin] })
  const slow = await world.connect()
  const quick = await world.connect()
  slow.socket.pause()
  const text = 'x'.repeat(200_000)
  let seen = 0
  quick.socket.on('message', () => {
    seen += 1
  })
  // The buffers of the operating system hold some megabytes before the gateway's buffer grows.
  const sent = 150
  for (let event = 1; event <= sent; event++) {
    source.emit(text)
    while (seen < event) await once(quick.socket, 'message')
  }
  let late = 0
  slow.socket.on('message', () => {
    late += 1
  })
  slow.socket.resume()
  t.equal((await slow.closed).code, 1006)
  t.ok(late < sent, `the client was cut off after ${late} of ${sent} events`)
  quick.send({ id: 1, type: 'list_tools' })
  while (seen <= sent) await once(quick.socket, 'message')
})

t.test('the calls of a disconnected client are aborted', async t => {
  const gates = new EventEmitter()
  const world = await openWorld(t, {}, { plugins: [toolsPlugin({ gates })] })
  const socket = await world.connect()
  const entered = once(gates, 'entered a')
  const aborted = once(gates, 'aborted a')
  socket.send({ type: 'call_tool', name: 'svc_rebalance', args: { text: 'wait a' } })
  await entered
  socket.socket.terminate()
  await aborted
  gates.emit('open a')
})

t.test('concurrent calls of one client are limited', async t => {
  const gates = new EventEmitter()
  gates.setMaxListeners(100)
  const world = await openWorld(t, {}, { plugins: [toolsPlugin({ gates })] })
  const socket = await world.connect()
  for (let id = 1; id <= 33; id++) {
    socket.send({ id, type: 'call_tool', name: 'svc_rebalance', args: { text: 'wait all' } })
  }
  t.match(await socket.next(), { id: 33, error: 'too many calls at once (max 32)' })
  gates.emit('open all')
  for (let left = 32; left > 0; left--) t.match(await socket.next(), { success: true })
})

t.test('a message that is too large ends the connection', async t => {
  const world = await openWorld(t)
  const socket = await world.connect()
  socket.send({ type: 'call_tool', name: 'svc_rebalance', args: { text: 'x'.repeat(262_144) } })
  t.equal((await socket.closed).code, 1009)
})

t.test(
  'websockets survive reloads of tools and of mcp, and close after their calls on a reload of the gateway',
  async t => {
    const gates = new EventEmitter()
    const world = await openWorld(t, {}, { plugins: [toolsPlugin({ gates })] })
    const socket = await world.connect()
    const idle = await world.connect()
    await world.kernel.replace(toolsPlugin({ gates, version: 'second' }))
    t.match(await socket.ask({ type: 'call_tool', name: 'svc_rebalance' }), { data: { data: { by: 'second' } } })

    await world.kernel.replace({ ...mcp } as Plugin)
    t.match(await idle.ask({ type: 'list_tools' }), { success: true })

    const entered = once(gates, 'entered b')
    socket.send({ id: 'b', type: 'call_tool', name: 'svc_rebalance', args: { text: 'wait b' } })
    await entered
    await world.kernel.replace(definePlugin({ ...gateway }) as Plugin)
    t.same(await idle.closed, { code: 1012, reason: 'the gateway is replaced' })
    const next = await world.connect()
    t.match(await next.ask({ type: 'list_tools' }), { success: true }, 'the new gateway serves on the same port')
    gates.emit('open b')
    t.match(await socket.next(), { id: 'b', success: true, data: { data: { by: 'second' } } })
    t.equal((await socket.closed).code, 1012)
    await world.kernel.close()
    t.same((await next.closed).code, 1012, 'shutdown closes the websocket, too')
    t.same(
      world.kernel.log.filter(({ level }) => level === 'error' || level === 'warn'),
      []
    )
  }
)
