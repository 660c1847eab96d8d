import fc from 'fast-check'
import t from 'tap'
import { fromPayload, noPostgres, PostgresServer, toPayloads } from '#root'
import { openStore } from './stores.ts'

const name = fc.string({ minLength: 1, maxLength: 512, unit: 'grapheme' })

t.test('payloads are below the limit of PostgreSQL and contain every queue once', async () => {
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 200, size: 'max' }), queues => {
      const payloads = toPayloads('origin', queues)
      const read = payloads.flatMap(payload => fromPayload('another', payload))
      return (
        payloads.every(payload => Buffer.byteLength(payload) < 8_000) &&
        JSON.stringify(read) === JSON.stringify(queues) &&
        payloads.every(payload => fromPayload('origin', payload).length === 0)
      )
    }),
    { numRuns: 30 }
  )
})

t.test('reads any payload without an error', async () => {
  const payload = fc.oneof(
    fc.string(),
    fc.json().map(text => `origin ${text}`)
  )
  fc.assert(fc.property(payload, text => fromPayload('another', text).every(queue => typeof queue === 'string')))
})

t.test(
  'many puts of a process become few notifications, which reach another process',
  { skip: noPostgres },
  async t => {
    const server = await PostgresServer.start({ fsync: 'off' })
    t.teardown(() => server.remove())
    const [store, other] = [openStore(server.url()), openStore(server.url())]
    t.teardown(() => Promise.all([store.close(), other.close()]))
    const own: string[] = []
    const seen: string[] = []
    store.hints(['q'], queue => own.push(queue))
    other.hints(['q', 'last'], queue => seen.push(queue))
    const put = (queue: string) => store.put([{ queue, body: '1' }])
    const until = async (queue: string): Promise<void> => {
      while (!seen.includes(queue)) {
        await put(queue)
        await new Promise(resolve => setTimeout(resolve, 50))
      }
    }
    await until('q')
    seen.length = 0
    own.length = 0
    const begun = performance.now()
    await Promise.all(Array.from({ length: 500 }, () => put('q')))
    t.equal(own.length, 500, 'the own process is notified directly')
    await until('last')
    t.ok(seen.includes('q'))
    const milliseconds = performance.now() - begun
    // They are sent every 20 ms.
    t.ok(seen.length < 10 + milliseconds / 15, `${seen.length} hints arrived in ${milliseconds} ms`)
  }
)

t.test('a delayed item gives no hint, and a returned one does', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  const store = openStore(server.url())
  t.teardown(() => store.close())
  const seen: string[] = []
  store.hints(['q'], queue => seen.push(queue))
  const counted = async (call: Promise<unknown>): Promise<number> => {
    seen.length = 0
    await call
    await new Promise(resolve => setImmediate(resolve))
    return seen.length
  }
  const first = { queue: 'q', key: 'k', body: '1' }
  const second = { queue: 'q', key: 'd', body: '2', delayMs: 600_000 }
  t.equal(await counted(store.put([first])), 1)
  t.equal(await counted(store.put([first])), 0, 'its key was used')
  t.equal(await counted(store.put([second])), 0)
  const claim = () => store.claim('q', 'h', { max: 1, leaseMs: 600_000 })
  t.equal(await counted(store.nack(await claim(), { delayMs: 0 })), 1)
  t.equal(await counted(store.park(await claim())), 0)
  t.equal(await counted(store.wake('q', ['k'])), 1)
  t.equal(await counted(store.nack(await claim(), { delayMs: 600_000 })), 0)
  t.equal(await counted(store.wake('q', ['d'])), 1)
  t.equal(await counted(store.ack(await claim())), 0)
})
