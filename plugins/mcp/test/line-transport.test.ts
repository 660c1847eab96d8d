import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { LineTransport } from '#root'

interface Wire {
  readonly transport: LineTransport
  readonly input: PassThrough
  readonly received: unknown[]
  /** Returns the written lines, parsed. */
  written(): any[]
}

async function open(): Promise<Wire> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const chunks: Buffer[] = []
  output.on('data', chunk => chunks.push(chunk))
  const transport = new LineTransport(input, output)
  const received: unknown[] = []
  transport.onmessage = message => void received.push(message)
  await transport.start()
  const written = (): any[] =>
    Buffer.concat(chunks)
      .toString()
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
  return { transport, input, received, written }
}

const ping = (id: unknown): string => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`

t.test('an invalid line gets an error response, and the next one is read', async t => {
  const { input, received, written } = await open()
  input.write('hello\n\n  \r\n')
  input.write(Buffer.from([0xff, 0xfe, 10]))
  input.write('{"id":5,"method":"ping"}\n')
  input.write(ping(6))
  await new Promise(resolve => setImmediate(resolve))
  t.match(written(), [
    { jsonrpc: '2.0', id: null, error: { code: -32700 } },
    { jsonrpc: '2.0', id: null, error: { code: -32700 } },
    { jsonrpc: '2.0', id: 5, error: { code: -32600 } }
  ])
  t.match(received, [{ id: 6, method: 'ping' }])
})

t.test('a line that is too long gets one error response', async t => {
  const { input, received, written } = await open()
  for (let megabyte = 0; megabyte < 12; megabyte++) input.write('x'.repeat(1_048_576))
  input.write(`\n${ping(1)}`)
  while (received.length === 0 || written().length === 0) await new Promise(resolve => setImmediate(resolve))
  t.equal(written().length, 1)
  t.match(written(), [{ id: null, error: { code: -32600 } }])
})

t.test('for any bytes in any chunks, valid lines arrive and invalid ones get errors', async _t => {
  const bad = fc.uint8Array({ maxLength: 30 }).map(bytes => Buffer.from(bytes.filter(byte => byte !== 10)))
  const lines = fc.array(fc.oneof(fc.integer(), bad), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(lines, fc.integer({ min: 1, max: 40 }), async (script, size) => {
      const { transport, input, received, written } = await open()
      const bytes = Buffer.concat(
        script.map(each =>
          typeof each === 'number' ? Buffer.from(ping(each)) : Buffer.concat([each, Buffer.from('\n')])
        )
      )
      for (let at = 0; at < bytes.length; at += size) input.write(bytes.subarray(at, at + size))
      await new Promise(resolve => setImmediate(resolve))
      const good = script.filter(each => typeof each === 'number')
      if (JSON.stringify(received.map(each => (each as { id: unknown }).id)) !== JSON.stringify(good))
        throw new Error('a valid line is missing')
      const blank = script.filter(each => typeof each !== 'number' && isBlank(each)).length
      if (written().length !== script.length - good.length - blank)
        throw new Error('the number of error responses is wrong')
      await transport.close()
    }),
    { numRuns: 200 }
  )
})

/** True if the bytes are only JSON white space. */
function isBlank(bytes: Uint8Array): boolean {
  return bytes.every(byte => [0x20, 0x09, 0x0d].includes(byte))
}

t.test('pending responses are sent after the client closes its end', async t => {
  const { transport, input, written } = await open()
  input.write(ping(1) + ping(2) + ping('listen').replace('ping', 'subscriptions/listen'))
  input.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })}\n`)
  input.end()
  await once(input, 'close')
  await transport.send({ jsonrpc: '2.0', id: 1, result: {} })
  await transport.closed
  t.match(written(), [{ id: 1, result: {} }])
  await t.rejects(transport.send({ jsonrpc: '2.0', id: 3, result: {} }), /closed/)
})

t.test('the transport closes immediately if no response is pending, or after a disconnect', async t => {
  const first = await open()
  first.input.end()
  await first.transport.closed
  const second = await open()
  second.input.destroy(new Error('gone'))
  await second.transport.closed
  const third = new PassThrough()
  third.end()
  third.resume()
  await once(third, 'close')
  const late = new LineTransport(third, new PassThrough())
  await late.start()
  await late.closed
  t.pass('closed')
})
