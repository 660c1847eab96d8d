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
  const { connect, gates } = await startDaemon(t, { max_connections: 2 })
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
  t.match(await refused.next(), TOO_MANY, 'a further connection is rejected, since all are busy')
  await refused.closed()
  gates.events.emit('open a')
  gates.events.emit('open b')
  t.match(await busy.next(), { id: 'a' })
  t.match(await next.next(), { id: 'b' })
})

t.test('wrong tokens are rate-limited, but the right one is still accepted', async t => {
  const { connect } = await startDaemon(t)
  const codes: string[] = []
  for (let count = 0; count < 62; count++) {
    const peer = await connect(null)
    codes.push((await peer.ask(auth(`wrong ${count}`))).error.data.code)
    await peer.closed()
  }
  t.equal(codes[0], 'DMN_UNAUTHORIZED')
  t.ok(codes.includes('DMN_TOO_MANY_TOKENS'))
  const right = await connect()
  t.match(await right.ask({ jsonrpc: '2.0', id: 1, method: 'test.echo', params: { text: 'x' } }), { id: 1, result: {} })
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
  t.match(warnings()[1], { message: 'an idle connection was closed for a new one', fields: { max_connections: 1 } })
  const entered = new Promise(resolve => gates.events.once('entered a', resolve))
  second.send(wait('a'))
  await entered
  await (await connect(null)).closed()
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
