import { defineOperation, definePlugin, t as schema } from '@svc/plugin-sdk'
import t from 'tap'
import { LimitedLog } from '#root'
import { startDaemon } from './start-daemon.ts'

const ping = (id: unknown): object => ({ jsonrpc: '2.0', id, method: 'orch.ping' })
const wait = (gate: string): object => ({ jsonrpc: '2.0', id: gate, method: 'test.wait', params: { gate } })
const auth = (token: string): object => ({ jsonrpc: '2.0', id: 'auth', method: '$/auth', params: { token } })
const TOO_MANY = { error: { data: { code: 'DMN_TOO_MANY_CONNECTIONS', status: 503 } } }

t.test('at the connection limit, the longest idle connection without a token is closed with an error line', async t => {
  const { connect } = await startDaemon(t)
  const trusted = await connect()
  const idle = await Promise.all(Array.from({ length: 255 }, () => connect(null)))
  await idle[0]?.ask(ping(0))
  const next = await connect()
  t.match(await next.ask(ping(1)), { id: 1, result: { ok: true } })
  t.match(await idle[1]?.next(), TOO_MANY)
  await idle[1]?.closed()
  t.match(await trusted.ask(ping(2)), { id: 2 }, 'the connection with a token stays, although it was idle longer')
  t.match(await idle[0]?.ask(ping(3)), { id: 3 }, 'the connection that was active later stays')
})

t.test('a connection with a running call is not closed for another', async t => {
  const { connect, gates, state } = await startDaemon(t, { max_connections: 2 })
  const [busy, idle] = [await connect(), await connect()]
  const entered = new Promise(resolve => gates.events.once('entered a', resolve))
  busy.send(wait('a'))
  await entered
  const next = await connect()
  t.match(await idle.next(), TOO_MANY)
  const both = new Promise(resolve => gates.events.once('entered b', resolve))
  next.send(wait('b'))
  await both
  const refused = await connect(null)
  t.match(await refused.ask(ping(2)), TOO_MANY, 'a further connection is rejected, since all are busy')
  await refused.closed()
  const trusted = await connect(null)
  t.match(await trusted.ask(auth(state.token ?? '')), TOO_MANY, 'so is one with the token')
  await trusted.closed()
  gates.events.emit('open a')
  gates.events.emit('open b')
  t.match(await busy.next(), { id: 'a' })
  t.match(await next.next(), { id: 'b' })
})

const follow = (id: number): object => ({ jsonrpc: '2.0', id, method: 'orch.events' })
/** Sends events until the client leaves, as a client without token may request. */
const events = defineOperation({
  id: 'orch.events',
  summary: 'Send events',
  input: schema.object({}),
  output: schema.object({}),
  events: schema.object({ number: schema.integer() }),
  expose: { rpc: true }
})
const streamer = definePlugin({
  name: 'streamer',
  operations: [events],
  activate: ctx =>
    ctx.implement(events, async (_input, call) => {
      call.emit({ number: 1 })
      await new Promise(resolve => call.signal.addEventListener('abort', resolve, { once: true }))
      return {}
    })
})

t.test(
  'streams of clients without token do not lock out others, and never close a connection with the token',
  async t => {
    const { connect, kernel } = await startDaemon(t, { max_connections: 4 }, [streamer])
    const trusted = await connect()
    const streams = []
    for (let id = 0; id < 12; id += 1) {
      const peer = await connect(null)
      t.match(await peer.ask(follow(id)), { params: { id, event: { number: 1 } } })
      streams.push(peer)
    }
    t.match(await streams[0]?.next(), TOO_MANY, 'a stream is closed for a later one')
    await streams[0]?.closed()
    const next = await connect(null)
    t.match(await next.ask(ping(1)), { id: 1, result: { ok: true } })
    t.match(await trusted.ask(ping(2)), { id: 2, result: { ok: true } })
    t.ok(kernel.log.some(({ message }) => message === 'a connection was closed for a new one'))
  }
)

t.test('at the limit, a connection has time for its first line, and then needs the token', async t => {
  const { connect, state, gates } = await startDaemon(t, { max_connections: 2 })
  for (const gate of ['a', 'b']) {
    const busy = await connect()
    const entered = new Promise(resolve => gates.events.once(`entered ${gate}`, resolve))
    busy.send(wait(gate))
    await entered
  }
  const early = await connect(null)
  const others = await Promise.all(Array.from({ length: 15 }, () => connect(null)))
  const last = await connect(null)
  t.match(await early.next(), TOO_MANY, 'the oldest of 17 connections without a first line is refused')
  await early.closed()
  t.match(await last.ask(ping(1)), TOO_MANY)
  const idle = others[0]
  gates.events.emit('open a')
  gates.events.emit('open b')
  t.match(await idle?.ask(auth(state.token ?? '')), { id: 'auth', result: { ok: true } })
  t.match(await idle?.ask(ping(2)), { id: 2, result: { ok: true } })
})

t.test('after too many wrong tokens, a short token is not compared, but a long one is', async t => {
  const { connect, state } = await startDaemon(t, { token: 'short' })
  const codeOf = async (token: string): Promise<string> => {
    const peer = await connect(null)
    const answer = await peer.ask(auth(token))
    peer.close()
    return answer.error?.data.code ?? 'accepted'
  }
  const exhaust = async (): Promise<void> => {
    while ((await codeOf('wrong')) !== 'DMN_TOO_MANY_TOKENS');
  }
  t.equal(await codeOf('wrong'), 'DMN_UNAUTHORIZED')
  // The limit allows a guess a second, so on a slow machine the right token may be the one that is compared.
  let right = 'accepted'
  for (let attempts = 0; right === 'accepted' && attempts < 100; attempts += 1) {
    await exhaust()
    right = await codeOf('short')
  }
  t.equal(right, 'DMN_TOO_MANY_TOKENS')
  t.equal(await codeOf(state.token ?? ''), 'accepted')
})

t.test('the log has wrong tokens without their text, closed and refused connections, each once a minute', async t => {
  const { kernel, connect, gates } = await startDaemon(t, { max_connections: 1 })
  const warnings = () => kernel.log.filter(({ level }) => level === 'warn')
  for (const token of ['SECRET-1', 'SECRET-2']) {
    const peer = await connect(null)
    await peer.ask(auth(token))
    await peer.closed()
  }
  t.match(warnings(), [{ message: 'a client sent a wrong token', fields: { address: '127.0.0.1' } }])
  t.equal(warnings().length, 1)
  const first = await connect()
  const second = await connect()
  await first.closed()
  t.match(warnings()[1], { message: 'a connection was closed for a new one', fields: { max_connections: 1 } })
  const entered = new Promise(resolve => gates.events.once('entered a', resolve))
  second.send(wait('a'))
  await entered
  const refused = await connect(null)
  refused.send(ping(1))
  await refused.closed()
  t.match(warnings()[2], { message: 'a connection was refused, because all connections are busy' })
  gates.events.emit('open a')
  t.notMatch(JSON.stringify(kernel.log), /SECRET/)
})

t.test('a limited log counts the events that it did not log', t => {
  const lines: unknown[] = []
  const clock = { now: 0 }
  const log = new LimitedLog({ warn: (message, fields) => void lines.push([message, fields]) }, () => clock.now)
  for (let count = 0; count < 3; count++) log.warn('again', { count })
  log.warn('another', {})
  clock.now = 60_000
  log.warn('again', { count: 3 })
  t.same(lines, [
    ['again', { count: 0 }],
    ['another', {}],
    ['again', { count: 3, suppressed: 2 }]
  ])
  t.end()
})
