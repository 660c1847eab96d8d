import t from 'tap'
import { examplePlugin } from './example-plugin.ts'
import { startDaemon } from './start-daemon.ts'

const wait = (id: unknown, gate: string): object => ({ jsonrpc: '2.0', id, method: 'test.wait', params: { gate } })
const echo = (id: unknown): object => ({ jsonrpc: '2.0', id, method: 'test.echo', params: { text: 'x' } })

t.test('a connection can call the methods of each new generation', async t => {
  const { connect, kernel, gates } = await startDaemon(t)
  const peer = await connect()
  t.match(await peer.ask(echo(1)), { result: { by: 'first' } })
  await kernel.replace(examplePlugin(gates, 'second'))
  t.match(await peer.ask(echo(2)), { result: { by: 'second' } })
})

t.test('a running call ends in the code in which it started', async t => {
  const { connect, kernel, gates } = await startDaemon(t)
  const peer = await connect()
  const entered = new Promise(resolve => gates.events.once('entered a', resolve))
  peer.send(wait(1, 'a'))
  await entered
  await kernel.replace(examplePlugin(gates, 'second'))
  t.match(await peer.ask(echo(2)), { result: { by: 'second' } })
  gates.events.emit('open a')
  t.match(await peer.next(), { id: 1, result: { by: 'first' } })
})

t.test('connections, partial lines and calls survive a reload of the daemon itself', async t => {
  const { connect, gates, reload } = await startDaemon(t)
  const peer = await connect()
  const entered = new Promise(resolve => gates.events.once('entered a', resolve))
  peer.send(wait(1, 'a'))
  await entered
  peer.raw('{"jsonrpc":"2.0","id":2,"met')
  await peer.ask(echo('flushed')).catch(() => undefined)
  await reload()
  gates.events.emit('open a')
  t.match(await peer.next(), { id: 1, result: { gate: 'a' } }, 'the call started before the reload and ends after it')
  await reload()
  t.match(await peer.ask(echo(3)), { id: 3, result: { text: 'x' } })
})

t.test('the next unit completes a line that was split by a reload', async t => {
  const { connect, reload } = await startDaemon(t)
  const peer = await connect()
  const line = JSON.stringify(echo(1))
  t.match(await peer.ask(echo(0)), { id: 0 })
  peer.raw(line.slice(0, 20))
  // The response on another connection shows that the earlier bytes were read.
  const other = await connect()
  await other.ask(echo('seen'))
  await reload()
  peer.raw(`${line.slice(20)}\n`)
  t.match(await peer.next(), { id: 1, result: { text: 'x' } })
})

t.test('$/cancel cancels a call of an earlier unit', async t => {
  const { connect, gates, reload } = await startDaemon(t)
  const peer = await connect()
  const entered = new Promise(resolve => gates.events.once('entered a', resolve))
  peer.send(wait(1, 'a'))
  await entered
  await reload()
  peer.send({ jsonrpc: '2.0', method: '$/cancel', params: { id: 1 } })
  t.match(await peer.next(), { id: 1, error: { data: { code: 'OPR_CANCELLED' } } })
})

t.test('no request fails while plugins are reloaded under load', async t => {
  const { connect, kernel, gates, reload } = await startDaemon(t)
  let running = true
  let answered = 0
  const clients = Array.from({ length: 4 }, async () => {
    const peer = await connect()
    for (let id = 0; running; id++) {
      const frame = await peer.ask(echo(id))
      if (frame.id !== id || frame.result?.text !== 'x') throw new Error(JSON.stringify(frame))
      answered += 1
    }
  })
  for (let round = 0; round < 20; round++) {
    await (round % 2 === 0 ? reload() : kernel.replace(examplePlugin(gates, `round ${round}`)))
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
  }
  running = false
  await Promise.all(clients)
  t.ok(answered > 100, `${answered} requests`)
})

t.test('closing waits for running calls, then releases the port', async t => {
  const { connect, kernel, gates, state } = await startDaemon(t)
  const peer = await connect()
  const entered = new Promise(resolve => gates.events.once('entered a', resolve))
  peer.send(wait(1, 'a'))
  await entered
  const closing = kernel.close()
  gates.events.emit('open a')
  t.match(await peer.next(), { id: 1, result: { gate: 'a' } })
  await closing
  await peer.closed()
  const again = await startDaemon(t, { socket: state.socket })
  t.equal(again.state.socket, state.socket)
})
