import fc from 'fast-check'
import t from 'tap'
import { startDaemon } from './start-daemon.ts'

const ping = (id: unknown): object => ({ jsonrpc: '2.0', id, method: 'orch.ping' })

t.test('an invalid line gets an error response and the connection stays open', async t => {
  const { connect } = await startDaemon(t)
  const peer = await connect()
  const cases: [string, Buffer, number, string][] = [
    ['no JSON', Buffer.from('hello'), -32700, 'DMN_NOT_JSON'],
    ['half of an object', Buffer.from('{"jsonrpc":"2.0","id":1'), -32700, 'DMN_NOT_JSON'],
    ['two values', Buffer.from('{} {}'), -32700, 'DMN_NOT_JSON'],
    ['an overlong sequence', Buffer.from([0xc0, 0x80]), -32700, 'DMN_NOT_UTF8'],
    ['a half sequence', Buffer.from([0x22, 0xe2, 0x82, 0x22]), -32700, 'DMN_NOT_UTF8'],
    ['a NUL', Buffer.from([0]), -32700, 'DMN_NOT_JSON']
  ]
  for (const [name, line, code, stable] of cases) {
    peer.raw(Buffer.concat([line, Buffer.from('\n')]))
    t.match(await peer.next(), { jsonrpc: '2.0', id: null, error: { code, data: { code: stable } } }, name)
  }
  peer.raw('\n   \r\n\t\n')
  t.match(await peer.ask(ping(1)), { id: 1, result: { ok: true } }, 'blank lines are skipped')
  peer.raw('{"jsonrpc":"2.0","id":2,"method":"orch.ping"}\r\n')
  t.match(await peer.next(), { id: 2 }, 'a carriage return is white space')
})

t.test('a line over the limit gets one error response and is dropped', async t => {
  const { connect } = await startDaemon(t, { max_line_bytes: 4096 })
  const peer = await connect()
  peer.raw('x'.repeat(4097))
  t.match(
    await peer.next(),
    { id: null, error: { code: -32600, data: { code: 'DMN_LINE_TOO_LONG' } } },
    'the response is sent before the line ends'
  )
  for (let megabyte = 0; megabyte < 10; megabyte++) peer.raw('x'.repeat(1_000_000))
  peer.raw('\n')
  t.match(await peer.ask(ping(1)), { id: 1, result: { ok: true } })
  const fits = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'test.echo', params: { text: '' } })
  const text = 'x'.repeat(4096 - fits.length)
  t.match(
    await peer.ask({ jsonrpc: '2.0', id: 2, method: 'test.echo', params: { text } }),
    { result: { text } },
    'a line at the limit is accepted'
  )
  t.match(
    await peer.ask({ jsonrpc: '2.0', id: 3, method: 'test.echo', params: { text: `${text}x` } }),
    { id: null, error: { code: -32600 } },
    'one byte more is too long'
  )
})

t.test('a line may arrive in any chunks, and end without a newline at the end of the stream', async t => {
  const { connect } = await startDaemon(t)
  const peer = await connect()
  const line = Buffer.from(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'test.echo', params: { text: 'é€😀' } })}\n`
  )
  for (const byte of line) {
    peer.raw(Buffer.from([byte]))
    await new Promise(resolve => setImmediate(resolve))
  }
  t.match(await peer.next(), { id: 1, result: { text: 'é€😀' } })
  peer.raw(`${JSON.stringify(ping(2))}\n${JSON.stringify(ping(3))}`)
  peer.socket.end()
  t.same(
    (await peer.take(2)).map(frame => frame.id),
    [2, 3]
  )
  await peer.closed()
})

const evil = JSON.stringify({ jsonrpc: '2.0', method: 'test.wait', params: { gate: 'evil' } })

/** Bytes that a web page can make a browser send to the port, each with a request after them. */
const FOREIGN: Readonly<Record<string, Buffer>> = {
  'an HTTP request': Buffer.from(`POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n${evil}\n`),
  'an HTTP request line of more than 8 KiB': Buffer.from(
    `POST /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${evil}\n`
  ),
  'an HTTP request line over the line limit': Buffer.from(`POST /${'a'.repeat(1_900_000)} HTTP/1.1\r\n\r\n${evil}\n`),
  'an HTTP request after blank lines': Buffer.from(`\r\n \t\nGET / HTTP/1.1\r\n\r\n${evil}\n`),
  'a TLS ClientHello with a newline in its random bytes': Buffer.concat([
    Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x0a]),
    Buffer.from(`${evil}\n`)
  ])
}

for (const [name, bytes] of Object.entries(FOREIGN)) {
  t.test(`${name} closes the connection, and following requests are not executed`, async t => {
    for (const require_token of [false, true]) {
      const { connect, gates } = await startDaemon(t, { require_token, max_line_bytes: 1_048_576 })
      gates.events.on('entered evil', () => t.fail('the body was executed'))
      const trusted = await connect()
      const [whole, pieces] = [await connect(null), await connect(null)]
      whole.raw(bytes)
      t.match(await whole.next(), { error: { data: { code: 'DMN_HTTP_CLIENT' } } })
      await whole.closed()
      for (const byte of bytes.subarray(0, 20)) {
        pieces.raw(Buffer.from([byte]))
        await new Promise(resolve => setImmediate(resolve))
      }
      pieces.raw(bytes.subarray(20))
      await pieces.closed()
      t.match(await trusted.ask(ping(1)), { id: 1 })
    }
  })
}

t.test('an invalid first line that begins like a request gets a response, even after blank lines', async t => {
  const { connect } = await startDaemon(t)
  for (const first of ['', '\r\n \t\n']) {
    const peer = await connect(null)
    peer.raw(`${first}${JSON.stringify(ping(1))}\n`)
    t.match(await peer.next(), { id: 1, result: { ok: true } })
    const batch = await connect(null)
    batch.raw(`${first}[${JSON.stringify(ping(1))}]\n`)
    t.match(await batch.next(), [{ id: 1 }])
  }
})

t.test('a client that disconnects aborts only its own calls', async t => {
  const { connect, gates } = await startDaemon(t)
  const [leaving, staying] = [await connect(), await connect()]
  const both = Promise.all(
    ['a', 'b'].map(gate => new Promise(resolve => gates.events.once(`entered ${gate}`, resolve)))
  )
  leaving.send({ jsonrpc: '2.0', id: 1, method: 'test.wait', params: { gate: 'a' } })
  staying.send({ jsonrpc: '2.0', id: 1, method: 'test.wait', params: { gate: 'b' } })
  await both
  const aborted = new Promise(resolve => gates.events.once('aborted a', resolve))
  leaving.close()
  await aborted
  gates.events.emit('open b')
  t.match(await staying.next(), { id: 1, result: { gate: 'b' } })
})

/** Any bytes without a newline, which a client may send instead of a request. */
const soup = fc.oneof(
  fc.uint8Array({ maxLength: 80 }).map(bytes => Buffer.from(bytes.filter(byte => byte !== 10))),
  fc.json({ maxDepth: 3 }).map(text => Buffer.from(text)),
  fc
    .record(
      {
        jsonrpc: fc.constantFrom('2.0', '1.0', 2),
        method: fc.constantFrom('orch.ping', 'test.crash', '$/cancel', '', 5),
        params: fc.jsonValue({ maxDepth: 2 })
      },
      { requiredKeys: [] }
    )
    .map(frame => Buffer.from(JSON.stringify(frame)))
)
const steps = fc.array(fc.oneof({ weight: 2, arbitrary: soup }, fc.constantFrom('request', 'batch', 'native')), {
  minLength: 1,
  maxLength: 30
})

t.test('for any bytes: the connection stays open, and each request gets exactly one response', async t => {
  const { connect, kernel } = await startDaemon(t)
  await fc.assert(
    fc.asyncProperty(steps, async script => {
      const peer = await connect()
      const expected: string[] = []
      const request = (extra: object = { jsonrpc: '2.0' }): object => {
        const id = `request-${expected.length}`
        expected.push(id)
        const method = expected.length % 3 === 0 ? 'nope' : 'test.echo'
        return { ...extra, id, method, params: { text: id } }
      }
      for (const step of script) {
        if (step === 'request') peer.send(request())
        else if (step === 'native') peer.send(request({}))
        else if (step === 'batch') peer.send([request(), request()])
        else peer.raw(Buffer.concat([step as Buffer, Buffer.from('\n')]))
      }
      peer.send({ jsonrpc: '2.0', id: 'last', method: 'orch.ping' })
      peer.socket.end()
      const seen: string[] = []
      for (;;) {
        const line = await peer.next().catch(() => null)
        if (line === null) break
        for (const frame of [line].flat()) if (/^(request-|last)/.test(frame.id)) seen.push(frame.id)
      }
      peer.close()
      if ([...seen].sort().join() !== [...expected, 'last'].sort().join())
        throw new Error(`got responses ${seen}, expected ${expected}`)
    }),
    { numRuns: 150 }
  )
  t.equal(kernel.state('daemon'), 'active')
})
