import assert from 'node:assert/strict'
import type { ClaimedItem } from '../../coordination/store.ts'
import { type ConformanceSuite, holds } from '../suite.ts'
import { bodies, claim, claimWhenDue, type EachStore, expired, HOUR_MS, LONG_MS, put, token } from './bed.ts'

/** Putting, claiming and acknowledging items. */
export function claimCases(each: EachStore): ConformanceSuite {
  return [
    each('claims items by priority, then in the order in which they were put', async store => {
      const put = await store.put([
        { queue: 'q', body: '"a"' },
        { queue: 'q', body: '"b"', priority: 255 },
        { queue: 'q', body: '"c"' },
        { queue: 'other', body: '"d"' },
        { queue: 'q', body: '"e"', priority: 0 }
      ])
      assert.deepEqual(
        put.map(({ fresh }) => fresh),
        [true, true, true, true, true]
      )
      const ids = put.map(({ id }) => id)
      holds(
        ids.every((id, at) => at === 0 || id > (ids[at - 1] as number)),
        `ids grow: ${ids}`
      )
      assert.deepEqual(bodies(await claim(store, 'q', 'h', 3)), ['"b"', '"a"', '"c"'])
      assert.deepEqual(bodies(await claim(store, 'q', 'h', 3)), ['"e"'])
      assert.deepEqual(await claim(store, 'q', 'h', 3), [])
    }),
    each('returns every field of an item', async store => {
      const before = await store.now()
      await put(store, { queue: 'q', body: '{}', priority: 7, maxAttempts: 3, lane: 'l', privacy: 2, key: 'k' })
      const [item] = await store.claim('q', 'h', { max: 1, leaseMs: HOUR_MS })
      const after = await store.now()
      holds(item !== undefined, 'the item is claimed')
      const { id, fence, visibleAt, createdAt, ...rest } = item
      assert.deepEqual(rest, {
        queue: 'q',
        body: '{}',
        priority: 7,
        lane: 'l',
        privacy: 2,
        state: 'leased',
        attempts: 1,
        maxAttempts: 3,
        holder: 'h'
      })
      holds(createdAt >= before && createdAt <= after, `it was created between ${before} and ${after}: ${createdAt}`)
      holds(visibleAt >= before + HOUR_MS && visibleAt <= after + HOUR_MS, 'the lease ends an hour after the claim')
      assert.deepEqual(await store.read('q', [id]), [item])
      assert.deepEqual(await store.look('q', { limit: 10 }), [item])
      holds(Number.isSafeInteger(fence) && fence > 0, `the fence is a positive number: ${fence}`)
    }),
    each('a key is used once, also after its item was acknowledged, and in each queue separately', async store => {
      const first = await put(store, { queue: 'q', body: '1', key: 'k' })
      assert.deepEqual(await store.put([{ queue: 'q', body: '2', key: 'k' }]), [{ id: first, fresh: false }])
      const twice = await store.put([
        { queue: 'r', body: '3', key: 'k' },
        { queue: 'r', body: '4', key: 'k' }
      ])
      assert.deepEqual(
        twice.map(({ fresh }) => fresh),
        [true, false]
      )
      assert.equal(twice[0]?.id, twice[1]?.id)
      const [item] = await claim(store, 'q', 'h', 10)
      assert.equal(item?.body, '1')
      assert.deepEqual(await store.ack([{ ...token(item), result: '{"ok":true}' }]), [true])
      assert.deepEqual(await store.put([{ queue: 'q', body: '5', key: 'k' }]), [
        { id: first, fresh: false, result: '{"ok":true}' }
      ])
      assert.deepEqual(await claim(store, 'q', 'h', 10), [])
    }),
    each('an acknowledgement can free the key of its item, and no other key', async store => {
      const first = await put(store, { queue: 'q', body: '1', key: 'k' })
      await put(store, { queue: 'q', body: '2', key: 'other' })
      const items = await claim(store, 'q', 'h', 2)
      const stale = { id: first, fence: (items[0] as ClaimedItem).fence + 1, freeKey: true }
      assert.deepEqual(await store.ack([stale]), [false])
      assert.deepEqual(await store.put([{ queue: 'q', body: '3', key: 'k' }]), [{ id: first, fresh: false }])
      assert.deepEqual(await store.ack([{ ...token(items[0]), freeKey: true }, token(items[1])]), [true, true])
      const [again, other] = await store.put([
        { queue: 'q', body: '4', key: 'k' },
        { queue: 'q', body: '5', key: 'other' }
      ])
      holds(again?.fresh === true && again.id > first, 'the freed key adds a new item')
      assert.equal(other?.fresh, false)
    }),
    each('racing puts of one key add one item', async (store, bed) => {
      const other = await bed.another()
      const puts = await Promise.all(
        Array.from({ length: 40 }, (_, at) =>
          (at % 2 === 0 ? store : other).put([{ queue: 'q', body: String(at), key: `k${at % 4}` }])
        )
      )
      for (let key = 0; key < 4; key += 1) {
        const own = puts.filter((_, at) => at % 4 === key).map(([result]) => result)
        assert.equal(new Set(own.map(result => result?.id)).size, 1)
        assert.equal(own.filter(result => result?.fresh).length, 1)
      }
      assert.equal(await other.count('q'), 4)
    }),
    each('a leased item has one holder until its lease expires, then the next fence is higher', async (store, bed) => {
      const other = await bed.another()
      await put(store, { queue: 'q', body: '1' })
      const [first] = await store.claim('q', 'a', { max: 1, leaseMs: LONG_MS })
      assert.deepEqual(await claim(other, 'q', 'b', 10), [])
      assert.deepEqual(await store.extend([token(first)], 1), [true])
      const [second] = await claimWhenDue(other, 'q', 'b')
      holds(second.fence > (first as ClaimedItem).fence, 'the fence grows')
      assert.deepEqual([second.attempts, second.holder], [2, 'b'])
      for (const stale of [store, other]) {
        assert.deepEqual(await stale.ack([token(first)]), [false])
        assert.deepEqual(await stale.extend([token(first)], LONG_MS), [false])
        assert.deepEqual(await stale.nack([token(first)], { delayMs: 0 }), [false])
        assert.deepEqual(await stale.park([token(first)]), [false])
      }
      assert.deepEqual(await other.ack([token(second)]), [true])
    }),
    each('an acknowledgement that names a queue leaves items of other queues', async store => {
      const id = await put(store, { queue: 'q', key: 'k', body: '1' })
      const held = token((await claim(store, 'q', 'h', 1))[0])
      const wrong = { ...held, queue: 'other', freeKey: true, result: '1' }
      assert.deepEqual(await store.ack([wrong]), [false])
      assert.equal((await store.read('q', [id])).length, 1)
      assert.deepEqual(await store.ack([wrong, { ...held, queue: 'q' }]), [false, true])
      assert.deepEqual(await store.put([{ queue: 'q', key: 'k', body: '2' }]), [{ id, fresh: false }])
    }),
    each('an acknowledgement is true once, and only for the token of a claim', async store => {
      const id = await put(store, { queue: 'q', body: '1' })
      assert.deepEqual(
        await store.ack([
          { id, fence: 0 },
          { id, fence: 1 },
          { id: id + 1_000, fence: 1 }
        ]),
        [false, false, false]
      )
      const [item] = await claim(store, 'q', 'h', 1)
      const { fence } = token(item)
      assert.deepEqual(
        await store.ack([
          { id, fence: fence + 1 },
          { id, fence },
          { id, fence }
        ]),
        [false, true, false]
      )
      assert.deepEqual(await store.ack([{ id, fence }]), [false])
      assert.deepEqual(await store.read('q', [id]), [])
    }),
    each('accepts an acknowledgement after the lease has expired if the item was not claimed again', async store => {
      await put(store, { queue: 'q', body: '1' })
      const [item] = await store.claim('q', 'a', { max: 1, leaseMs: 1 })
      await expired(store, item)
      assert.deepEqual(await store.extend([token(item)], LONG_MS), [false])
      // A claim of another item of the queue may notice the expired lease.
      await put(store, { queue: 'q', body: '2', priority: 255 })
      assert.deepEqual(bodies(await claim(store, 'q', 'b', 1)), ['2'])
      assert.deepEqual(await store.extend([token(item)], LONG_MS), [false])
      assert.deepEqual(await store.ack([token(item)]), [true])
      assert.deepEqual(await claim(store, 'q', 'b', 10), [])
    }),
    each('a redelivered item keeps its place', async store => {
      await store.put([1, 2, 3].map(body => ({ queue: 'q', body: String(body) })))
      const [first] = await claim(store, 'q', 'h', 1)
      assert.deepEqual(await store.nack([token(first)], { delayMs: 0 }), [true])
      assert.deepEqual(bodies(await claim(store, 'q', 'h', 3)), ['1', '2', '3'])
    }),
    each('a holder can claim its leased items again, each with a new fence', async store => {
      await store.put([
        { queue: 'q', body: '1' },
        { queue: 'q', body: '2', lane: 'a' },
        { queue: 'q', body: '3' }
      ])
      const first = await claim(store, 'q', 'a', 2)
      await claim(store, 'q', 'b', 1)
      assert.deepEqual(await claim(store, 'q', 'a', 10), [])
      const again = await store.claim('q', 'a', { max: 10, leaseMs: LONG_MS, own: true })
      assert.deepEqual(bodies(again), ['1', '2'])
      for (const [at, { fence, attempts }] of again.entries()) {
        holds(fence > token(first[at]).fence, 'the fence grows')
        assert.equal(attempts, 2)
      }
      assert.deepEqual(await store.ack(first.map(token)), [false, false])
      await put(store, { queue: 'q', body: '4', priority: 255 })
      assert.deepEqual(bodies(await store.claim('q', 'a', { max: 2, leaseMs: LONG_MS, own: true })), ['4', '1'])
    })
  ]
}
