import t from 'tap'
import { startDaemon } from './start-daemon.ts'

const ping = (id: unknown): object => ({ jsonrpc: '2.0', id, method: 'orch.ping' })
const wait = (gate: string): object => ({ jsonrpc: '2.0', id: gate, method: 'test.wait', params: { gate } })
const auth = (token: string): object => ({ jsonrpc: '2.0', id: 'auth', method: '$/auth', params: { token } })
const TOO_MANY = { error: { data: { code: 'DMN_TOO_MANY_CONNECTIONS', status: 503 } } }

t.test(
  '256 idle connections do not lock others out: the longest idle one without a token gets an error line and is closed',
  async t => {
    const { connect } = await startDaemon(t)
    const trusted = await connect()
    const idle = await Promise.all(Array.from({ length: 255 }, () => connect(null)))
    await idle[0]?.ask(ping(0))
    const next = await connect()
    t.match(await next.ask(ping(1)), { id: 1, result: { ok: true } })
    t.match(await idle[1]?.next(), TOO_MANY)
    await idle[1]?.closed()
    t.match(await trusted.ask(ping(2)), { id: 2 }, 'the one with a token stays, though it was idle longer')
    t.match(await idle[0]?.ask(ping(3)), { id: 3 }, 'and the one that was active later')
  }
)

t.test('a connection with a call under way is not closed for another', async t => {
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
  t.match(await refused.next(), TOO_MANY, 'all are busy')
  await refused.closed()
  gates.events.emit('open a')
  gates.events.emit('open b')
  t.match(await busy.next(), { id: 'a' })
  t.match(await next.next(), { id: 'b' })
})

t.test('wrong tokens are rate-limited, and the right one still passes', async t => {
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
