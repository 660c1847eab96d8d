import assert from 'node:assert/strict'
import { type ConformanceSuite, holds } from '../suite.ts'
import { bodies, claim, claimWhenDue, type EachStore, expired, LONG_MS, put, token } from './bed.ts'

/** Items that are returned, parked, woken, dead or withdrawn. */
export function delayCases(each: EachStore): ConformanceSuite {
  return [
    each('a returned item is delayed, and its token ends', async store => {
      const id = await put(store, { queue: 'q', body: '1' })
      const [item] = await claim(store, 'q', 'h', 1)
      assert.deepEqual(await store.nack([token(item), token(item)], { delayMs: LONG_MS, error: 'no' }), [true, false])
      assert.deepEqual(await store.ack([token(item)]), [false])
      assert.deepEqual(await store.extend([token(item)], LONG_MS), [false])
      assert.deepEqual(await store.park([token(item)]), [false])
      const [delayed] = await store.read('q', [id])
      assert.equal(delayed?.state, 'delayed')
      holds((delayed?.visibleAt ?? 0) > (await store.now()), 'it is ready later')
      assert.deepEqual(await claim(store, 'q', 'h', 1), [])
      await put(store, { queue: 'q', body: '2', delayMs: 1 })
      const [short] = await claimWhenDue(store, 'q', 'h')
      assert.equal(short.body, '2')
    }),
    each('an item that exceeded its attempts is dead, and can be revived with its id', async store => {
      const id = await put(store, { queue: 'q', body: '1', maxAttempts: 2, key: 'k', lane: 'l', priority: 9 })
      await put(store, { queue: 'q', body: '2', priority: 1 })
      let fence = 0
      for (const error of ['first', 'second']) {
        const [item] = await claim(store, 'q', 'h', 1)
        assert.equal(item?.id, id)
        fence = token(item).fence
        assert.deepEqual(await store.nack([token(item)], { delayMs: 0, error }), [true])
      }
      assert.deepEqual(bodies(await claim(store, 'q', 'h', 1)), ['2'])
      assert.deepEqual(await store.read('q', [id]), [])
      const [dead] = await store.dead('q', { limit: 10 })
      const { attempts, error, body, lane, priority, diedAt } = dead ?? {}
      assert.deepEqual([dead?.id, attempts, error, body, lane, priority], [id, 2, 'second', '1', 'l', 9])
      holds((diedAt ?? 0) <= (await store.now()), 'the time of its death is known')
      assert.equal(await store.revive('other', [id]), 0)
      assert.equal(await store.revive('q', [id, id + 1_000]), 1)
      assert.deepEqual(await store.dead('q', { limit: 10 }), [])
      const [item] = await claim(store, 'q', 'h', 1)
      assert.deepEqual([item?.id, item?.attempts], [id, 1])
      holds(token(item).fence > fence, 'the fence grows over death')
      assert.equal((await store.put([{ queue: 'q', body: '3', key: 'k' }]))[0]?.fresh, false)
    }),
    each('an item whose lease expires at its last attempt is dead without an error', async store => {
      const id = await put(store, { queue: 'q', body: '1', maxAttempts: 1 })
      const [item] = await store.claim('q', 'h', { max: 1, leaseMs: 1 })
      await expired(store, item)
      assert.deepEqual(await claim(store, 'q', 'h', 1), [])
      const [dead] = await store.dead('q', { limit: 1 })
      assert.deepEqual([dead?.id, dead?.error], [id, null])
      assert.deepEqual(await store.ack([token(item)]), [false])
    }),
    each('a parked item waits until it is woken', async store => {
      await put(store, { queue: 'q', body: '1', key: 'k' })
      const [item] = await claim(store, 'q', 'h', 1)
      assert.deepEqual(await store.park([token(item), token(item)]), [true, false])
      assert.deepEqual(await store.ack([token(item)]), [false])
      assert.deepEqual(await claim(store, 'q', 'h', 1), [])
      assert.equal((await store.look('q', { limit: 1 }))[0]?.state, 'parked')
      assert.equal(await store.wake('q', ['other']), 0)
      assert.equal(await store.wake('other', ['k']), 0)
      assert.equal(await store.wake('q', ['k', 'other', 'k']), 1)
      const [woken] = await claim(store, 'q', 'h', 1)
      holds(token(woken).fence > token(item).fence, 'the fence grows')
      assert.deepEqual(await store.ack([token(woken)]), [true])
      assert.equal(await store.wake('q', ['k']), 0)
    }),
    each('a wake while an item is leased is kept until it is parked or returned, not longer', async store => {
      await put(store, { queue: 'q', body: '1', key: 'k' })
      for (const end of ['park', 'nack'] as const) {
        const [item] = await claim(store, 'q', 'h', 1)
        assert.equal(await store.wake('q', ['k']), 1)
        assert.equal(await store.wake('q', ['k']), 1)
        const ended =
          end === 'park' ? await store.park([token(item)]) : await store.nack([token(item)], { delayMs: LONG_MS })
        assert.deepEqual(ended, [true])
      }
      const [again] = await claim(store, 'q', 'h', 1)
      assert.equal(again?.body, '1')
      await store.park([token(again)])
      assert.deepEqual(await claim(store, 'q', 'h', 1), [], 'the wake was used')
    }),
    each('a wake after the lease has expired is kept for the holder that parks the item late', async store => {
      await put(store, { queue: 'q', body: '1', key: 'k' })
      const [item] = await store.claim('q', 'h', { max: 1, leaseMs: 1 })
      await expired(store, item)
      // A claim of another item of the queue may notice the expired lease.
      await put(store, { queue: 'q', body: '2', priority: 255 })
      assert.deepEqual(bodies(await claim(store, 'q', 'other', 1)), ['2'])
      assert.equal(await store.wake('q', ['k']), 1)
      assert.deepEqual(await store.park([token(item)]), [true])
      assert.deepEqual(bodies(await claim(store, 'q', 'other', 1)), ['1'], 'the wake is not lost')
    }),
    each('a wake makes a delayed item ready, and leaves a ready one', async store => {
      await store.put([
        { queue: 'q', body: '1', key: 'a', delayMs: LONG_MS },
        { queue: 'q', body: '2', key: 'b' }
      ])
      assert.equal(await store.wake('q', ['a', 'b']), 2)
      const items = await claim(store, 'q', 'h', 10)
      assert.deepEqual(bodies(items), ['1', '2'])
      await store.park(items.map(token))
      assert.deepEqual(await claim(store, 'q', 'h', 10), [], 'a wake before the claim is not kept')
    }),
    each('a withdrawn item no longer exists for its holder', async store => {
      const [ready, leased, keyed] = (
        await store.put([
          { queue: 'q', body: '1', priority: 0 },
          { queue: 'q', body: '2' },
          { queue: 'q', body: '3', key: 'k', delayMs: LONG_MS }
        ])
      ).map(({ id }) => id)
      const [item] = await claim(store, 'q', 'h', 1)
      assert.equal(item?.id, leased)
      assert.equal(await store.withdraw('other', ready as number), 'gone')
      assert.equal(await store.withdraw('q', ready as number), 'taken')
      assert.equal(await store.withdraw('q', ready as number), 'gone')
      assert.equal(await store.withdraw('q', leased as number), 'leased')
      assert.deepEqual(await store.ack([token(item)]), [false])
      assert.deepEqual(await store.extend([token(item)], LONG_MS), [false])
      assert.equal(await store.withdraw('q', keyed as number), 'taken')
      assert.deepEqual(await store.put([{ queue: 'q', body: '4', key: 'k' }]), [{ id: keyed, fresh: false }])
    })
  ]
}
