import t from 'tap'
import { startDaemon } from './start-daemon.ts'

const wait = (id: unknown, gate: string): object => ({ jsonrpc: '2.0', id, method: 'test.wait', params: { gate } })
const ping = (id: unknown): object => ({ jsonrpc: '2.0', id, method: 'orch.ping' })

t.test('$/cancel ends a call with OPR_CANCELLED', async t => {
  const { connect, gates } = await startDaemon(t)
  const peer = await connect()
  const entered = new Promise(resolve => gates.events.once('entered a', resolve))
  peer.send(wait(1, 'a'), wait('1', 'b'))
  await entered
  peer.send({ jsonrpc: '2.0', method: '$/cancel', params: { id: 1 } })
  t.match(await peer.next(), { id: 1, error: { code: -32000, data: { code: 'OPR_CANCELLED' } } })
  gates.events.emit('open b')
  t.match(await peer.next(), { id: '1', result: { gate: 'b' } }, 'the string "1" is another id')
  t.same(await peer.ask({ jsonrpc: '2.0', id: 2, method: '$/cancel', params: { id: 'gone' } }), {
    jsonrpc: '2.0',
    id: 2,
    result: { cancelled: false }
  })
})

t.test('requests over the limit wait in the queue, and can be cancelled there', async t => {
  const { connect, gates } = await startDaemon(t, { max_in_flight: 2 })
  const peer = await connect()
  let entered = 0
  for (const gate of ['a', 'b', 'c', 'd']) gates.events.on(`entered ${gate}`, () => (entered += 1))
  const both = new Promise(resolve => gates.events.once('entered b', resolve))
  peer.send(wait(1, 'a'), wait(2, 'b'), wait(3, 'c'), wait(4, 'd'))
  await both
  peer.send({ jsonrpc: '2.0', method: '$/cancel', params: { id: 3 } })
  t.match(await peer.next(), { id: 3, error: { data: { code: 'OPR_CANCELLED' } } })
  t.equal(entered, 2)
  const last = new Promise(resolve => gates.events.once('entered d', resolve))
  gates.events.emit('open a')
  await last
  gates.events.emit('open b')
  gates.events.emit('open d')
  t.same(new Set((await peer.take(3)).map(frame => frame.id)), new Set([1, 2, 4]))
})

t.test('the daemon pauses the input of a client that does not read, and loses nothing', async t => {
  const { connect, kernel } = await startDaemon(t)
  const peer = await connect()
  peer.socket.pause()
  const requests = 60
  for (let id = 0; id < requests; id++)
    peer.send({ jsonrpc: '2.0', id, method: 'test.huge', params: { bytes: 1_000_000 } })
  const other = await connect()
  // Once another connection was served, all requests that could start have started.
  for (let id = 0; id < 20; id++) await other.ask(ping(id))
  const held = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
  t.ok(held < 250_000_000, `${Math.round(held / 1e6)} MB are buffered for 60 MB of responses`)
  peer.socket.resume()
  const ids = (await peer.take(requests)).map(frame => frame.id)
  t.equal(new Set(ids).size, requests)
  t.equal(kernel.state('daemon'), 'active')
})

t.test('a call whose events are not read is aborted', async t => {
  const { connect } = await startDaemon(t, { max_buffered_bytes: 1_000_000 })
  const peer = await connect()
  peer.socket.pause()
  peer.send({ jsonrpc: '2.0', id: 1, method: 'test.count', params: { to: 100_000, size: 10_000 } })
  const other = await connect()
  for (let id = 0; id < 50; id++) await other.ask(ping(id))
  peer.socket.resume()
  for (;;) {
    const frame = await peer.next()
    if (frame.id !== 1) continue
    t.match(frame, { error: { code: -32000, data: { code: 'DMN_SLOW_READER' } } })
    break
  }
  t.match(await peer.ask(ping(2)), { id: 2 }, 'the connection stays open')
})

t.test('a slow reader gets only the newest progress', async t => {
  const { connect, gates } = await startDaemon(t)
  const peer = await connect()
  const entered = new Promise(resolve => gates.events.once('entered r', resolve))
  peer.send({ jsonrpc: '2.0', id: 'r', method: 'test.report', params: { gate: 'r', times: 50 }, progress: true })
  await entered
  // More than the buffers of the system hold, so that the daemon must wait for this client.
  const begun = new Promise(resolve => peer.socket.once('data', resolve))
  peer.send({ jsonrpc: '2.0', id: 'huge', method: 'test.huge', params: { bytes: 30_000_000 } })
  await begun
  peer.socket.pause()
  const other = await connect()
  gates.events.emit('open r')
  await other.ask(ping('reported'))
  peer.socket.resume()
  const mine: any[] = []
  while (mine.at(-1)?.id !== 'r') {
    const frame = await peer.next()
    if (frame.id === 'r' || frame.params?.id === 'r') mine.push(frame)
  }
  t.match(mine, [
    { method: '$/progress', params: { id: 'r', done: 50, total: 50 } },
    { id: 'r', result: { ok: true } }
  ])
  t.equal(mine.length, 2)
})
