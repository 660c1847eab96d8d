import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConformanceSuite } from '../suite.ts'
import { claim, type EachStore, expired, LONG_MS, put, token } from './bed.ts'

/** Lists, counts and hints of queues. */
export function readingCases(each: EachStore): ConformanceSuite {
  return [
    each('lists items by pages, the newest first, and counts and trims by prefix', async store => {
      const ids: number[] = []
      for (const queue of ['a:1', 'a:2', 'a:1', 'b', 'a:1', 'a'])
        ids.push(await put(store, { queue, body: `"${queue}"` }))
      const [one, two, three, , five] = ids as [number, number, number, number, number]
      assert.deepEqual(
        (await store.look('a:1', { limit: 2 })).map(({ id }) => id),
        [five, three]
      )
      assert.deepEqual(
        (await store.look('a:1', { limit: 2, before: three })).map(({ id }) => id),
        [one]
      )
      assert.deepEqual(
        (await store.read('a:1', [five, two, one, 999_999])).map(({ id }) => id).sort((a, b) => a - b),
        [one, five]
      )
      const counts = async (): Promise<number[]> =>
        Promise.all(['a:', 'a:1', 'a', '', 'c'].map(prefix => store.count(prefix)))
      assert.deepEqual(await counts(), [4, 3, 5, 6, 0])
      const [leased] = await claim(store, 'a:1', 'h', 1)
      assert.equal(leased?.id, one)
      assert.equal(await store.trim('a:', 4), 0)
      assert.equal(await store.trim('a:', 2), 2)
      assert.deepEqual(await counts(), [2, 2, 3, 4, 0])
      assert.deepEqual(await store.ack([token(leased)]), [false], 'a leased item is trimmed, too')
      assert.equal(await store.trim('', 0), 4)
    }),
    each('says which queues have something to claim', async store => {
      await store.put([
        { queue: 'ready', body: '1' },
        { queue: 'delayed', body: '1', delayMs: LONG_MS },
        { queue: 'leased', body: '1' },
        { queue: 'expired', body: '1' }
      ])
      await claim(store, 'leased', 'h', 1)
      const [item] = await store.claim('expired', 'h', { max: 1, leaseMs: 1 })
      await expired(store, item)
      const queues = ['ready', 'delayed', 'leased', 'expired', 'empty']
      assert.deepEqual([...(await store.ready(queues))].sort(), ['expired', 'ready'])
      assert.deepEqual(await store.ready([]), [])
    }),
    each('an unsubscribed consumer gets no hints', async store => {
      const seen: string[] = []
      const end = store.hints(['q'], queue => seen.push(queue))
      end()
      end()
      await put(store, { queue: 'q', body: '1' })
      await sleep(50)
      assert.deepEqual(seen, [])
    })
  ]
}
