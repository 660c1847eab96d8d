import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { resetConnection } from '../reset-connection.ts'
import { FaultyProxy } from './faulty-proxy.ts'

/** Opens a proxy before a server that answers with what it receives, and notes it. */
async function openEcho(t: Test) {
  const received: string[] = []
  let close = (): void => {}
  const closed = new Promise<void>(resolve => {
    close = resolve
  })
  const server = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => {})
    socket.on('data', data => {
      received.push(String(data))
      socket.write(data)
    })
    socket.on('end', () => socket.write('bye', () => socket.end()))
    socket.on('close', () => close())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy = await FaultyProxy.open((server.address() as AddressInfo).port)
  t.teardown(async () => {
    await proxy.close()
    server.close()
  })
  const open = async (): Promise<Socket> => {
    const client = connect(proxy.port, '127.0.0.1')
    client.on('error', () => {})
    await once(client, 'connect')
    return client
  }
  /** Resolves when the server has received a text. */
  const arrival = async (text: string): Promise<void> => {
    while (!received.includes(text)) await new Promise(resolve => setTimeout(resolve, 5))
  }
  return { proxy, open, arrival, received, closed }
}

/** Resolves when a connection has ended, also by a reset. */
function end(client: Socket): Promise<void> {
  return new Promise(resolve => client.once('close', () => resolve()))
}

async function next(client: Socket): Promise<string> {
  return String((await once(client, 'data'))[0])
}

t.test('bytes and the end of a connection pass in both directions', async t => {
  const { proxy, open } = await openEcho(t)
  proxy.delay(5)
  const client = await open()
  client.write('one')
  t.equal(await next(client), 'one')
  client.end()
  t.equal(await next(client), 'bye')
  await end(client)
})

t.test('a request that is held arrives after the network has healed', async t => {
  const { proxy, open, received } = await openEcho(t)
  proxy.hold('up')
  const client = await open()
  client.write('late')
  await new Promise(resolve => setTimeout(resolve, 50))
  t.same(received, [])
  proxy.heal()
  t.equal(await next(client), 'late')
})

t.test('an answer that is dropped leaves a request that took effect, and its connection ends', async t => {
  const { proxy, open, arrival } = await openEcho(t)
  const client = await open()
  const answers: string[] = []
  client.on('data', data => answers.push(String(data)))
  proxy.drop('down')
  client.write('lost')
  await arrival('lost')
  while (!proxy.isLossy) await new Promise(resolve => setTimeout(resolve, 5))
  const ended = end(client)
  proxy.heal()
  await ended
  t.same(answers, [])
})

t.test('a cut resets open connections, and the next one works', async t => {
  const { proxy, open } = await openEcho(t)
  const client = await open()
  client.write('one')
  await next(client)
  const ended = end(client)
  proxy.cut()
  await ended
  const again = await open()
  again.write('two')
  t.equal(await next(again), 'two')
})

t.test('a client that resets a half-closed connection ends it at the server, too', async t => {
  const { proxy, open, arrival, closed } = await openEcho(t)
  const client = await open()
  client.write('one')
  await arrival('one')
  proxy.hold('down')
  client.end('two')
  await arrival('two')
  client.resetAndDestroy()
  proxy.heal()
  await closed
  t.pass('the connection of the server has ended')
})

t.test('a connection can be reset while its end is on the way', async t => {
  const { open } = await openEcho(t)
  const client = await open()
  const errors: unknown[] = []
  client.on('error', error => errors.push(error))
  client.end('one')
  resetConnection(client)
  await once(client, 'close')
  t.same(errors, [])
})
