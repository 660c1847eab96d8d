import { setTimeout as sleep } from 'node:timers/promises'
import type { Coordination } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { noPostgres, PostgresServer } from '#root'
import { FaultyProxy } from '../../../test/mesh/faulty-proxy.ts'
import { openStore } from './stores.ts'

const LEASE_MS = 600_000

/** Starts a server that the test removes at its end. */
async function startServer(t: Test, settings?: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const server = await PostgresServer.start(settings)
  t.teardown(() => server.remove())
  return server
}

function open(t: Test, url: string): Coordination {
  const store = openStore(url)
  t.teardown(() => store.close())
  return store
}

/** Effect in the data of an error; fails if it is not `CRD_UNAVAILABLE`. */
async function effectOf(t: Test, call: Promise<unknown>): Promise<unknown> {
  try {
    await call
  } catch (error) {
    if (!isSvcError(error, 'CRD_UNAVAILABLE')) throw error
    t.ok(error.hint, 'the error says what to do')
    return (error.data as { effect: unknown }).effect
  }
  throw new Error('the call must fail')
}

/** Repeats a call until its outcome is known. */
async function certain<A>(call: () => Promise<A>): Promise<A> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isSvcError(error, 'CRD_UNAVAILABLE')) throw error
      await sleep(5)
    }
  }
}

/** Observations of the workers of one queue. */
interface History {
  /** Ids of acknowledged puts by key. */
  readonly put: Map<string, number>
  /** Number of acknowledgements that were true, by id. */
  readonly acked: Map<number, number>
  /** Fences of claims, in their order, by id. */
  readonly fences: Map<number, number[]>
}

/** Puts, claims and acknowledges until stopped, whatever fails. */
async function work(store: Coordination, worker: number, history: History, stopped: () => boolean): Promise<void> {
  for (let step = 0; !stopped(); step += 1) {
    const key = `${worker}-${step}`
    const [added] = await certain(() => store.put([{ queue: 'q', key, body: JSON.stringify(key) }]))
    history.put.set(key, added?.id as number)
    // Leases are short: the claim of a call without an answer has to pass on.
    const claimed = await certain(() => store.claim('q', `w${worker}`, { max: 2, leaseMs: 300 }))
    for (const { id, fence } of claimed) {
      history.fences.set(id, [...(history.fences.get(id) ?? []), fence])
      let isRepeated = false
      const [done] = await certain(async () => {
        const result = await store.ack([{ id, fence }]).catch((error: unknown) => {
          isRepeated = true
          throw error
        })
        return result
      })
      // False after a lost answer may be the second answer of a successful call.
      if (done || isRepeated) history.acked.set(id, (history.acked.get(id) ?? 0) + (done ? 1 : 0))
    }
  }
}

/** Drains the queue and checks that nothing was lost or acknowledged twice. */
async function checkHistory(t: Test, store: Coordination, history: History): Promise<void> {
  while ((await store.count('q')) > 0) {
    const items = await store.claim('q', 'last', { max: 100, leaseMs: LEASE_MS })
    for (const [index, done] of (await store.ack(items)).entries()) {
      const { id } = items[index] as { id: number }
      t.equal(done, true)
      history.acked.set(id, (history.acked.get(id) ?? 0) + 1)
    }
    await sleep(20)
  }
  t.ok(history.put.size > 0, `${history.put.size} items were put`)
  for (const [key, id] of history.put) {
    if (!history.acked.has(id)) t.fail(`the item ${id} of ${key} was lost`)
    const [again] = await store.put([{ queue: 'q', key, body: '0' }])
    if (again?.fresh !== false || again.id !== id) t.fail(`the key ${key} added a second item`)
  }
  for (const [id, count] of history.acked) if (count > 1) t.fail(`the item ${id} was acknowledged ${count} times`)
  for (const fences of history.fences.values())
    if (new Set(fences).size !== fences.length) t.fail(`a fence was granted twice: ${fences}`)
}

/** Runs workers on two stores while `fault` runs. */
async function underLoad(t: Test, url: string, fault: () => Promise<void>): Promise<void> {
  const history: History = { put: new Map(), acked: new Map(), fences: new Map() }
  const stores = [open(t, url), open(t, url)] as const
  let isStopped = false
  const workers = [0, 1, 2, 3].map(at => work(stores[(at % 2) as 0 | 1], at, history, () => isStopped))
  while (history.put.size < 20) await sleep(10)
  await fault()
  const before = history.put.size
  while (history.put.size < before + 20) await sleep(10)
  isStopped = true
  await Promise.all(workers)
  await checkHistory(t, stores[0], history)
}

t.test('loses nothing and acknowledges once while the server restarts', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  await underLoad(t, server.url(), async () => {
    for (let round = 0; round < 2; round += 1) {
      await server.stop()
      await sleep(100)
      await server.up()
    }
  })
})

t.test('loses nothing and acknowledges once when the server crashes', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  await underLoad(t, server.url(), async () => {
    await server.crash()
    await server.up()
  })
})

t.test('loses nothing and acknowledges once when connections are ended', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  await underLoad(t, server.url(), async () => {
    for (let round = 0; round < 10; round += 1) {
      await server.killClients()
      await sleep(20)
    }
  })
})

t.test('a call whose answer is lost may have taken effect, and can be repeated', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  const proxy = await FaultyProxy.open(server.port)
  t.teardown(() => proxy.close())
  const store = open(t, server.urlThrough(proxy.port))
  const other = open(t, server.url())
  await store.now()

  proxy.drop('down')
  const lostPut = effectOf(t, store.put([{ queue: 'q', key: 'k', body: '1' }]))
  while ((await other.count('q')) === 0) await sleep(5)
  proxy.cut()
  proxy.heal()
  t.equal(await lostPut, 'unknown')
  const [again] = await store.put([{ queue: 'q', key: 'k', body: '2' }])
  t.equal(again?.fresh, false)

  const [item] = await store.claim('q', 'h', { max: 1, leaseMs: LEASE_MS })
  t.equal(item?.body, '1')
  proxy.drop('down')
  const lostAck = effectOf(t, store.ack([item as { id: number; fence: number }]))
  while ((await other.count('q')) > 0) await sleep(5)
  proxy.cut()
  proxy.heal()
  t.equal(await lostAck, 'unknown')
  t.same(await store.ack([item as { id: number; fence: number }]), [false])
})

t.test('a call ends when the server is frozen, and works when it goes on', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  const store = open(t, server.url())
  await store.now()
  server.pause()
  const effects = [
    effectOf(t, store.put([{ queue: 'q', key: 'k', body: '1' }])),
    effectOf(t, store.grant('s', 'k', 'a', LEASE_MS))
  ]
  for (const effect of await Promise.all(effects)) t.match(effect, /^(none|unknown)$/)
  server.resume()
  await certain(() => store.put([{ queue: 'q', key: 'k', body: '1' }]))
  t.equal(await store.count('q'), 1)
  const lease = await certain(() => store.grant('s', 'k', 'a', LEASE_MS))
  t.ok('fence' in lease && lease.holder === 'a')
})

t.test('a call without a server ends with an error that names it, and had no effect', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  const store = open(t, server.url())
  await store.now()
  await server.stop()
  // The first call may still use a connection whose end has not been noticed.
  await t.rejects(store.now(), { code: 'CRD_UNAVAILABLE' })
  t.equal(await effectOf(t, store.put([{ queue: 'q', body: '1' }])), 'none')
  await t.rejects(store.now(), { code: 'CRD_UNAVAILABLE', message: new RegExp(`127\\.0\\.0\\.1:${server.port}`) })
  await server.up()
  t.equal((await certain(() => store.put([{ queue: 'q', body: '1' }])))[0]?.fresh, true)
})

t.test('a closed store refuses calls', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  const store = openStore(server.url())
  const running = store.now()
  await running
  await store.close()
  await store.close()
  await t.rejects(store.now(), { code: 'CRD_CLOSED' })
  await t.rejects(store.put([{ queue: 'q', body: '1' }]), { code: 'CRD_CLOSED' })
})

t.test('hints reach another process again after its connection was ended', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  const [store, other] = [open(t, server.url()), open(t, server.url())]
  const seen: string[] = []
  const end = other.hints(['q', 'r'], queue => seen.push(queue))
  const hinted = async (queue: string): Promise<void> => {
    while (!seen.includes(queue)) {
      await certain(() => store.put([{ queue, body: '1' }]))
      await sleep(50)
    }
  }
  await hinted('q')
  await server.killClients()
  await hinted('r')
  end()
  t.notOk(seen.includes('other'))
})

t.test('installs the schema again after another program dropped it', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  const store = open(t, server.url())
  await store.put([{ queue: 'q', body: '1' }])
  await server.query('drop schema svc_coord cascade')
  t.equal((await certain(() => store.put([{ queue: 'q', body: '2' }])))[0]?.fresh, true)
})
