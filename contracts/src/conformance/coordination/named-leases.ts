import assert from 'node:assert/strict'
import type { NamedLease } from '../../coordination/store.ts'
import { type ConformanceSuite, holds } from '../suite.ts'
import { after, type EachStore, grant, HOUR_MS, LONG_MS } from './bed.ts'

/** Named leases. */
export function namedLeaseCases(each: EachStore): ConformanceSuite {
  return [
    each('a named lease has one holder, who extends it with the same fence', async (store, bed) => {
      const other = await bed.another()
      const lease = await grant(store, 's', 'k', 'a', HOUR_MS)
      assert.deepEqual([lease.scope, lease.key, lease.holder], ['s', 'k', 'a'])
      const conflict = await other.grant('s', 'k', 'b', LONG_MS)
      assert.deepEqual(conflict, { heldBy: 'a', expiresAt: lease.expiresAt })
      const again = await grant(other, 's', 'k', 'a', 2 * HOUR_MS)
      assert.equal(again.fence, lease.fence)
      holds(again.expiresAt > lease.expiresAt, 'the lease is extended')
      const elsewhere = await grant(store, 't', 'k', 'b', LONG_MS)
      holds(elsewhere.holder === 'b', 'scopes are separate')
    }),
    each('renew, release and revoke need the fence of a live lease', async store => {
      const lease = await grant(store, 's', 'k', 'a', LONG_MS)
      assert.equal(await store.renew(lease, HOUR_MS), 'ok')
      const [renewed] = await store.leases('s')
      holds((renewed?.expiresAt ?? 0) > lease.expiresAt, 'the lease is longer')
      assert.equal(await store.renew({ ...lease, holder: 'b' }, LONG_MS), 'other')
      assert.equal(await store.release({ ...lease, holder: 'b' }), 'other')
      assert.equal(await store.renew({ ...lease, scope: 't' }, LONG_MS), 'gone')
      assert.equal(await store.renew({ ...lease, fence: lease.fence + 1 }, LONG_MS), 'gone')
      assert.equal(await store.release(lease), 'ok')
      assert.equal(await store.release(lease), 'gone')
      assert.equal(await store.renew(lease, LONG_MS), 'gone')
      const next = await grant(store, 's', 'k', 'b', LONG_MS)
      holds(next.fence > lease.fence, 'the fence grows over a release')
      assert.equal(await store.revoke('t', next.fence), false)
      assert.equal(await store.revoke('s', lease.fence), false)
      assert.equal(await store.revoke('s', next.fence), true)
      assert.equal(await store.revoke('s', next.fence), false)
      assert.equal(await store.renew(next, LONG_MS), 'gone')
    }),
    each('an expired named lease passes on with a higher fence, and cannot be renewed', async store => {
      const lease = await grant(store, 's', 'k', 'a', 1)
      await after(store, lease.expiresAt)
      assert.equal(await store.renew(lease, LONG_MS), 'gone')
      assert.equal(await store.release(lease), 'gone')
      assert.equal(await store.revoke('s', lease.fence), false)
      assert.deepEqual(await store.leases('s'), [])
      const next = await grant(store, 's', 'k', 'a', LONG_MS)
      holds(next.fence > lease.fence, 'a lease that had expired is a new one, also for its holder')
      assert.equal(await store.renew(lease, LONG_MS), 'gone')
      assert.equal(await store.renew(next, LONG_MS), 'ok')
    }),
    each('racing grants have one winner', async (store, bed) => {
      const other = await bed.another()
      for (let round = 0; round < 5; round += 1) {
        const all = await Promise.all(
          Array.from({ length: 12 }, (_, at) => (at % 2 ? store : other).grant('s', `k${round}`, `h${at}`, LONG_MS))
        )
        const won = all.filter(result => 'fence' in result)
        assert.equal(won.length, 1)
        for (const result of all) if ('heldBy' in result) assert.equal(result.heldBy, won[0]?.holder)
      }
    }),
    each('lists live named leases by fence, by pages', async store => {
      const leases: NamedLease[] = []
      for (const key of ['a', 'b', 'c', 'd']) leases.push(await grant(store, 's', key, 'h', LONG_MS))
      await grant(store, 't', 'a', 'h', LONG_MS)
      await store.release(leases[1] as NamedLease)
      const [first, , third, last] = leases as [NamedLease, NamedLease, NamedLease, NamedLease]
      assert.deepEqual(await store.leases('s'), [first, third, last])
      assert.deepEqual(await store.leases('s', { limit: 1 }), [first])
      assert.deepEqual(await store.leases('s', { after: first.fence, limit: 10 }), [third, last])
    })
  ]
}
