import type { Coordination, ItemToken, NamedLease } from '@svc/contracts'
import t, { type Test } from 'tap'
import { noPostgres, PostgresServer } from '#root'
import { openStore } from './stores.ts'

const LEASE_MS = 600_000

async function startPair(t: Test): Promise<[PostgresServer, PostgresServer]> {
  const primary = await PostgresServer.start()
  t.teardown(() => primary.remove())
  const standby = await PostgresServer.standbyOf(primary)
  t.teardown(() => standby.remove())
  return [primary, standby]
}

function open(t: Test, url: string): Coordination {
  const store = openStore(url)
  t.teardown(() => store.close())
  return store
}

/** URL of both servers, the first one first. */
function urlOf(first: PostgresServer, second: PostgresServer): string {
  return first.url().replace(`:${first.port}/`, `:${first.port},127.0.0.1:${second.port}/`)
}

async function grant(store: Coordination, key: string, holder: string): Promise<NamedLease> {
  const lease = await store.grant('s', key, holder, LEASE_MS)
  if (!('fence' in lease)) throw new Error(`${key} is held by ${lease.heldBy}`)
  return lease
}

async function claim(store: Coordination, holder: string): Promise<ItemToken> {
  const [item] = await store.claim('q', holder, { max: 1, leaseMs: LEASE_MS })
  if (item === undefined) throw new Error('nothing to claim')
  return { id: item.id, fence: item.fence }
}

t.test('no fence repeats when a standby that lags is promoted', { skip: noPostgres }, async t => {
  const [primary, standby] = await startPair(t)
  const store = open(t, urlOf(primary, standby))
  await store.put([{ queue: 'q', body: '1' }])
  const early = await claim(store, 'a')
  await store.nack([early], { delayMs: 0 })
  const kept = await grant(store, 'kept', 'a')
  await primary.query(`select pg_switch_wal()`)
  await standby.caughtUp(primary)
  await standby.stop()

  // All of this is lost.
  const lost = await claim(store, 'b')
  await store.release(kept)
  const lostLease = await grant(store, 'kept', 'b')
  const other = await grant(store, 'other', 'b')
  await primary.crash()
  await standby.up()
  await standby.promote()

  const item = await claim(store, 'c')
  t.equal(item.id, lost.id)
  t.ok(item.fence > lost.fence, 'the fence of the item is above the lost one')
  t.same(await store.ack([lost]), [false])
  t.equal(await store.renew(kept, LEASE_MS), 'gone', 'a lease of the time before the promotion is not renewed')
  t.equal(await store.renew(lostLease, LEASE_MS), 'gone')
  t.equal('fence' in (await store.grant('s', 'kept', 'c', LEASE_MS)), false, 'its time has not passed yet')
  const again = await grant(store, 'kept', 'a')
  t.ok(again.fence > lostLease.fence, 'its holder gets it again, with a fence above the lost one')
  t.ok((await grant(store, 'other', 'c')).fence > other.fence)
  t.same(await store.ack([item]), [true])
})

t.test('calls go to the promoted standby when the primary server is frozen', { skip: noPostgres }, async t => {
  const [primary, standby] = await startPair(t)
  const store = open(t, urlOf(primary, standby))
  await Promise.all(Array.from({ length: 20 }, (_, at) => store.put([{ queue: 'q', body: String(at) }])))
  const end = store.hints(['q'], () => {})
  await standby.caughtUp(primary)
  primary.pause()
  await standby.promote()
  for (let count = 0; count !== 20; )
    count = await store.count('q').catch((error: { code: string }) => {
      if (error.code !== 'CRD_UNAVAILABLE') throw error
      return 0
    })
  t.ok((await claim(store, 'a')).fence >= 2 * 2 ** 40)
  end()
})

t.test('a store closes although the server is frozen', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start()
  t.teardown(() => server.remove())
  const store = openStore(server.url())
  store.hints(['q'], () => {})
  await Promise.all([store.now(), store.put([{ queue: 'q', body: '1' }])])
  server.pause()
  await store.close()
  t.pass('it is closed')
  server.resume()
})

t.test('a server with an older timeline is refused after a promotion', { skip: noPostgres }, async t => {
  const [primary, standby] = await startPair(t)
  const store = open(t, urlOf(standby, primary))
  await store.put([{ queue: 'q', body: '1' }])
  await standby.caughtUp(primary)
  await primary.stop()
  await standby.promote()
  t.equal(await store.count('q'), 1)
  await primary.up()
  await standby.stop()
  await t.rejects(store.count('q'), { code: 'CRD_UNAVAILABLE' })
  // The error of the server that was tried last.
  const messages = await Promise.all(
    [store, store].map(each =>
      each.count('q').then(
        () => 'answered',
        (error: Error) => error.message
      )
    )
  )
  t.notOk(messages.includes('answered'), 'the former primary is not used')
  await standby.up()
  t.equal(await store.count('q'), 1)
})

t.test('a standby is refused with an error that says so', { skip: noPostgres }, async t => {
  const [primary, standby] = await startPair(t)
  const store = open(t, primary.url())
  await store.now()
  await standby.caughtUp(primary)
  await t.rejects(open(t, standby.url()).now(), { code: 'CRD_UNAVAILABLE', message: /is a standby/, hint: /primary/ })
})
