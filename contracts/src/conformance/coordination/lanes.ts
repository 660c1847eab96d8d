import assert from 'node:assert/strict'
import type { Coordination } from '../../coordination/store.ts'
import { type ConformanceSuite, holds } from '../suite.ts'
import { bodies, claim, claimWhenDue, type EachStore, expired, LONG_MS, put, token } from './bed.ts'

/** Lanes and privacy: which of the ready items a claim may take. */
export function laneCases(each: EachStore): ConformanceSuite {
  return [
    each('at most one item of a lane is leased, in order, and others are not held up', async store => {
      await store.put([
        { queue: 'q', body: '1', lane: 'a' },
        { queue: 'q', body: '2', lane: 'a' },
        { queue: 'q', body: '3', lane: 'b' },
        { queue: 'q', body: '4' },
        { queue: 'r', body: '5', lane: 'a' }
      ])
      const items = await claim(store, 'q', 'h', 10)
      assert.deepEqual(bodies(items), ['1', '3', '4'])
      assert.deepEqual(bodies(await claim(store, 'r', 'h', 10)), ['5'], 'lanes belong to queues')
      assert.deepEqual(await claim(store, 'q', 'h', 10), [])
      await store.ack([token(items[0])])
      const [next] = await claim(store, 'q', 'h', 10)
      assert.equal(next?.body, '2')
      await put(store, { queue: 'q', body: '6', lane: 'a', priority: 255 })
      assert.deepEqual(await store.nack([token(next)], { delayMs: 0 }), [true])
      assert.deepEqual(bodies(await claim(store, 'q', 'h', 10)), ['6'])
    }),
    each('a late acknowledgement is refused when the lane has passed on', async store => {
      await put(store, { queue: 'q', body: '1', lane: 'a' })
      const [late] = await store.claim('q', 'a', { max: 1, leaseMs: 1 })
      await expired(store, late)
      await put(store, { queue: 'q', body: '2', lane: 'a', priority: 255 })
      const [other] = await claimWhenDue(store, 'q', 'b')
      assert.equal(other.body, '2')
      assert.deepEqual(await store.ack([token(late)]), [false])
      assert.deepEqual(await store.ack([token(other)]), [true])
      const [again] = await claim(store, 'q', 'b', 1)
      assert.equal(again?.body, '1')
    }),
    each('racing claims never lease two items of one lane', async (store, bed) => {
      const other = await bed.another()
      await store.put(Array.from({ length: 60 }, (_, at) => ({ queue: 'q', body: String(at), lane: `l${at % 3}` })))
      const done: string[] = []
      const work = async (from: Coordination, holder: string): Promise<void> => {
        while (done.length < 60) {
          const items = await claim(from, 'q', holder, 2)
          for (const { lane } of items)
            holds(items.filter(item => item.lane === lane).length === 1, 'a claim takes one item of a lane')
          const leased = (await from.look('q', { limit: 100 })).filter(({ state }) => state === 'leased')
          const lanes = leased.map(({ lane }) => lane)
          assert.equal(new Set(lanes).size, lanes.length, 'one look sees at most one leased item of a lane')
          const acked = await from.ack(items.map(token))
          for (const [at, { body }] of items.entries()) if (acked[at]) done.push(body)
        }
      }
      await Promise.all([work(store, 'a'), work(other, 'b'), work(store, 'c'), work(other, 'd')])
      for (let lane = 0; lane < 3; lane += 1) {
        const own = done.map(Number).filter(body => body % 3 === lane)
        assert.deepEqual(
          own,
          Array.from({ length: 20 }, (_, at) => at * 3 + lane),
          'a lane is worked off in order'
        )
      }
    }),
    each('a claim takes only items that its privacy allows', async store => {
      await store.put([
        { queue: 'q', body: '1', privacy: 1 },
        { queue: 'q', body: '0' },
        { queue: 'q', body: '2', privacy: 2, lane: 'a' },
        { queue: 'q', body: '3', privacy: 3, lane: 'a' }
      ])
      const some = async (privacy: number[]): Promise<string[]> =>
        bodies(await store.claim('q', 'h', { max: 10, leaseMs: LONG_MS, privacy }))
      assert.deepEqual(await some([]), [])
      assert.deepEqual(await some([3, 0]), ['0', '3'])
      assert.deepEqual(bodies(await claim(store, 'q', 'h', 10)), ['1'])
    })
  ]
}
