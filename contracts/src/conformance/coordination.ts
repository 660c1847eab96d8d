import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSvcError } from '@svc/plugin-sdk'
import {
  type ClaimedItem,
  type Coordination,
  type ItemToken,
  MAX_COORDINATION_BATCH,
  MAX_COORDINATION_KEY,
  MAX_COORDINATION_NAME,
  MAX_ITEM_BODY_BYTES,
  type NamedLease,
  type NewItem,
  type StoredNode
} from '../coordination/store.ts'
import { type ConformanceSuite, holds } from './suite.ts'

/** Stores over one empty database. */
export interface CoordinationBed {
  readonly store: Coordination
  /** Opens another store over the same data, as another process would. */
  another(): Promise<Coordination>
  /**
   * Replaces the data by an earlier copy, taken by the last call of `remember`, as a restored backup or a promoted
   * standby would. Returns a store over it; the earlier ones are closed. Absent if the test cannot do this.
   */
  readonly goBack?: { remember(): Promise<void>; restore(): Promise<Coordination> }
  close(): Promise<void>
}

export interface CoordinationSubject {
  /** Returns a new, empty database for each call. */
  open(): Promise<CoordinationBed>
}

/** Long enough never to expire in a test. */
const LONG_MS = 600_000
const HOUR_MS = 3_600_000

/** Cases for every implementation of {@link Coordination}. Each call returns new cases. */
export function coordinationSuite({ open }: CoordinationSubject): ConformanceSuite {
  const each = (name: string, run: (store: Coordination, bed: CoordinationBed) => Promise<void>) => ({
    name,
    async run() {
      const bed = await open()
      try {
        await run(bed.store, bed)
      } finally {
        await bed.close()
      }
    }
  })

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
    each('claims for a node only while it has the named version', async store => {
      const { nodes } = store
      const options = { max: 1, leaseMs: LONG_MS }
      const claimAs = (version: number) => store.claimAs({ scope: 's', id: 'n', version }, 'q', options)
      const id = await put(store, { queue: 'q', body: '1' })
      assert.equal(await claimAs(1), null, 'the node does not exist')
      const { version } = (await nodes.put('s', 'n', '{}', null)) as StoredNode
      const { version: other } = (await nodes.put('other', 'n', '{}', null)) as StoredNode
      assert.equal(await claimAs(version + 1_000), null)
      assert.equal(await store.claimAs({ scope: 's2', id: 'n', version: other }, 'q', options), null)
      await nodes.seen('s', ['n'])
      const claimed = (await claimAs(version)) as readonly ClaimedItem[]
      assert.deepEqual(
        claimed.map(item => [item.id, item.holder]),
        [[id, 'n']]
      )
      assert.deepEqual(await claimAs(version), [])
      const again = await store.claimAs({ scope: 's', id: 'n', version }, 'q', { ...options, own: true })
      assert.equal(again?.[0]?.attempts, 2)
      await nodes.flag('s', 'n', { quarantined: true })
      assert.equal(await claimAs(version), null)
      const [refused, taken] = await Promise.all([
        claimAs(version),
        store.claimAs({ scope: 'other', id: 'n', version: other }, 'q', { ...options, own: true })
      ])
      assert.equal(refused, null)
      assert.equal(taken?.[0]?.id, id, 'the calls do not change each other')
      await nodes.remove('other', 'n')
      assert.equal(await store.claimAs({ scope: 'other', id: 'n', version: other }, 'q', options), null)
    }),
    each('marks a node as seen and returns it', async store => {
      const { nodes } = store
      assert.equal(await nodes.see('s', 'n'), null)
      const joined = (await nodes.put('s', 'n', '{"a":1}', null)) as StoredNode
      await sleep(5)
      const seen = (await nodes.see('s', 'n')) as StoredNode
      assert.ok(seen.seenAt > joined.seenAt)
      assert.deepEqual({ ...seen, seenAt: 0 }, { ...joined, seenAt: 0 })
      assert.deepEqual(await nodes.find('s', 'n'), seen)
      assert.equal(await nodes.see('other', 'n'), null)
      await nodes.remove('s', 'n')
      assert.equal(await nodes.see('s', 'n'), null)
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
    }),
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
    }),
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
    each('arrays in opposite orders do not block each other', async (store, bed) => {
      const other = await bed.another()
      await store.put(Array.from({ length: 100 }, (_, at) => ({ queue: 'q', body: String(at), key: `k${at}` })))
      const items = await claim(store, 'q', 'h', 100)
      for (let round = 0; round < 5; round += 1) {
        const extended = await Promise.all([
          store.extend(items.map(token), LONG_MS),
          other.extend(items.map(token).reverse(), LONG_MS)
        ])
        assert.deepEqual(extended.flat(), Array(200).fill(true))
      }
      const [forwards, backwards] = await Promise.all([
        store.ack(items.map(token)),
        other.ack(items.map(token).reverse())
      ])
      for (const [at, acked] of forwards.entries())
        assert.equal(acked, !backwards[backwards.length - 1 - at], 'each item is acknowledged once')
    }),
    each('keeps large bodies, and every character that JSON can hold', async store => {
      const texts = [
        JSON.stringify('x'.repeat(1024 * 1024)),
        JSON.stringify('\u0000 \u001f \ud800 \u{1f600} \\ " \u2028'),
        '{"a":1,"a":2, "big":12345678901234567890.10}',
        JSON.stringify('\u{10ffff}é')
      ]
      const ids = (await store.put(texts.map((body, at) => ({ queue: 'q', body, key: `k\u001f${at}` })))).map(
        ({ id }) => id
      )
      const items = await claim(store, 'q', 'h', 10)
      assert.deepEqual(bodies(items), texts)
      await store.ack(items.map((item, at) => ({ ...token(item), result: texts[at] as string })))
      for (const [at, body] of texts.entries())
        assert.deepEqual(await store.put([{ queue: 'q', body, key: `k\u001f${at}` }]), [
          { id: ids[at], fresh: false, result: body }
        ])
    }),
    each('refuses wrong parameters with an error that names them, and changes nothing', async store => {
      const id = await put(store, { queue: 'q', body: '1' })
      const item: NewItem = { queue: 'q', body: '1' }
      const wrong: [string, () => Promise<unknown>, 'CRD_VALUE_INVALID' | 'CRD_TOO_LARGE'][] = [
        ['items[1].queue', () => store.put([item, { ...item, queue: '' }]), 'CRD_VALUE_INVALID'],
        ['queue', () => store.put([{ ...item, queue: 'a\u001fb' }]), 'CRD_VALUE_INVALID'],
        ['queue', () => store.put([{ ...item, queue: 'a'.repeat(MAX_COORDINATION_NAME + 1) }]), 'CRD_TOO_LARGE'],
        ['key', () => store.put([{ ...item, key: '' }]), 'CRD_VALUE_INVALID'],
        ['key', () => store.put([{ ...item, key: 'a'.repeat(MAX_COORDINATION_KEY + 1) }]), 'CRD_TOO_LARGE'],
        ['body', () => store.put([{ ...item, body: 'a\u0000b' }]), 'CRD_VALUE_INVALID'],
        ['body', () => store.put([{ ...item, body: '\ud800' }]), 'CRD_VALUE_INVALID'],
        ['body', () => store.put([{ ...item, body: {} as string }]), 'CRD_VALUE_INVALID'],
        ['body', () => store.put([{ ...item, body: 'a'.repeat(MAX_ITEM_BODY_BYTES + 1) }]), 'CRD_TOO_LARGE'],
        ['priority', () => store.put([{ ...item, priority: 256 }]), 'CRD_VALUE_INVALID'],
        ['priority', () => store.put([{ ...item, priority: 1.5 }]), 'CRD_VALUE_INVALID'],
        ['delayMs', () => store.put([{ ...item, delayMs: -1 }]), 'CRD_VALUE_INVALID'],
        ['delayMs', () => store.put([{ ...item, delayMs: Number.NaN }]), 'CRD_VALUE_INVALID'],
        ['maxAttempts', () => store.put([{ ...item, maxAttempts: 0 }]), 'CRD_VALUE_INVALID'],
        ['lane', () => store.put([{ ...item, lane: '' }]), 'CRD_VALUE_INVALID'],
        ['items', () => store.put(Array(MAX_COORDINATION_BATCH + 1).fill(item)), 'CRD_TOO_LARGE'],
        ['items', () => store.put('item' as never), 'CRD_VALUE_INVALID'],
        ['max', () => store.claim('q', 'h', { max: 0, leaseMs: 1 }), 'CRD_VALUE_INVALID'],
        ['leaseMs', () => store.claim('q', 'h', { max: 1, leaseMs: 0 }), 'CRD_VALUE_INVALID'],
        ['holder', () => store.claim('q', '', { max: 1, leaseMs: 1 }), 'CRD_VALUE_INVALID'],
        ['privacy', () => store.claim('q', 'h', { max: 1, leaseMs: 1, privacy: [-1] }), 'CRD_VALUE_INVALID'],
        ['fence', () => store.ack([{ id, fence: -1 }]), 'CRD_VALUE_INVALID'],
        ['fence', () => store.ack([{ id, fence: 2 ** 60 }]), 'CRD_VALUE_INVALID'],
        ['id', () => store.ack([{ id: '1' as never, fence: 1 }]), 'CRD_VALUE_INVALID'],
        ['result', () => store.ack([{ id, fence: 1, result: '\u0000' }]), 'CRD_VALUE_INVALID'],
        ['leaseMs', () => store.extend([{ id, fence: 1 }], 2 ** 52), 'CRD_VALUE_INVALID'],
        ['delayMs', () => store.nack([{ id, fence: 1 }], { delayMs: -1 }), 'CRD_VALUE_INVALID'],
        ['keys', () => store.wake('q', ['a', '']), 'CRD_VALUE_INVALID'],
        ['limit', () => store.look('q', { limit: 0 }), 'CRD_VALUE_INVALID'],
        ['before', () => store.look('q', { limit: 1, before: -1 }), 'CRD_VALUE_INVALID'],
        ['keep', () => store.trim('q', -1), 'CRD_VALUE_INVALID'],
        ['key', () => store.grant('s', '', 'h', 1), 'CRD_VALUE_INVALID'],
        ['key', () => store.grant('s', 'a'.repeat(MAX_COORDINATION_KEY + 1), 'h', 1), 'CRD_TOO_LARGE'],
        ['fence', () => store.renew({ scope: 's', holder: 'h', fence: 0.5 }, 1), 'CRD_VALUE_INVALID'],
        ['id', () => store.nodes.put('s', '', '{}', null), 'CRD_VALUE_INVALID'],
        ['record', () => store.nodes.put('s', 'n', null as never, null), 'CRD_VALUE_INVALID'],
        ['name', () => store.meta.swap('', null, 'a'), 'CRD_VALUE_INVALID'],
        ['expiresAt', () => store.useOnce([{ value: 'a', expiresAt: -1 }]), 'CRD_VALUE_INVALID'],
        ['wanted', () => store.takeTokens('b', { perSecond: 1, burst: 1, wanted: 0 }), 'CRD_VALUE_INVALID'],
        ['perSecond', () => store.takeTokens('b', { perSecond: 0, burst: 1, wanted: 1 }), 'CRD_VALUE_INVALID']
      ]
      for (const [name, run, code] of wrong) {
        const error = await run().then(
          () => assert.fail(`${name}: the call succeeded, but should throw ${code}`),
          (caught: unknown) => caught
        )
        holds(isSvcError(error, code), `${name}: the call throws ${code}, not ${String(error)}`)
        holds(error.message.includes(name), `"${error.message}" names ${name}`)
      }
      assert.equal(await store.count(''), 1)
      assert.deepEqual(await store.put([]), [])
      assert.deepEqual(await store.ack([]), [])
    }),
    each('workers with short leases lose no item, and acknowledge each once', async (store, bed) => {
      const stores = [store, await bed.another()]
      const COUNT = 60
      await store.put(Array.from({ length: COUNT }, (_, at) => ({ queue: 'q', body: String(at) })))
      const acked: string[] = []
      const grants = new Map<number, number[]>()
      const work = async (from: Coordination, holder: string): Promise<void> => {
        for (let empty = 0; acked.length < COUNT && empty < 10_000; ) {
          const [item] = await from.claim('q', holder, { max: 1, leaseMs: 15 })
          if (item === undefined) {
            empty += 1
            await sleep(2)
            continue
          }
          grants.set(item.id, [...(grants.get(item.id) ?? []), item.fence])
          // Every third worker sleeps past its lease.
          await sleep(item.fence % 3 === 1 ? 25 : 1)
          const [ok] = await from.ack([token(item)])
          if (ok === true) acked.push(item.body)
        }
      }
      await Promise.all(Array.from({ length: 6 }, (_, at) => work(stores[at % 2] as Coordination, `w${at}`)))
      assert.deepEqual(
        [...acked].sort((a, b) => Number(a) - Number(b)),
        Array.from({ length: COUNT }, (_, at) => String(at))
      )
      for (const fences of grants.values()) assert.equal(new Set(fences).size, fences.length, 'a fence is granted once')
      assert.equal(await store.count('q'), 0)
    }),

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
    }),

    each('stores nodes by version: one of several writers wins', async (store, bed) => {
      const other = await bed.another()
      const first = await store.nodes.put('s', 'n', '{"v":1}', null)
      holds(first !== null, 'a new node is stored')
      assert.equal(await other.nodes.put('s', 'n', '{"v":2}', null), null)
      assert.deepEqual(await other.nodes.find('s', 'n'), first)
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, at) => (at % 2 ? store : other).nodes.put('s', 'n', `{"w":${at}}`, first.version))
      )
      const won = all.filter(node => node !== null)
      assert.equal(won.length, 1)
      holds((won[0] as StoredNode).version > first.version, 'the version grows')
      assert.equal((await store.nodes.find('s', 'n'))?.record, won[0]?.record)
      assert.equal(await store.nodes.find('t', 'n'), null)
      assert.equal(await store.nodes.put('s', 'missing', '{}', 1), null)
    }),
    each('marks nodes as seen, and keeps their flags over a new record', async store => {
      const node = (await store.nodes.put('s', 'n', '{}', null)) as StoredNode
      await store.nodes.put('s', 'm', '{}', null)
      await after(store, node.seenAt)
      assert.deepEqual([...(await store.nodes.seen('s', ['m', 'x', 'n']))].sort(), ['m', 'n'])
      const seen = (await store.nodes.find('s', 'n')) as StoredNode
      holds(seen.seenAt > node.seenAt, 'it was seen later')
      assert.equal(seen.version, node.version, 'a heartbeat changes no version')
      const until = (await store.now()) + HOUR_MS
      assert.equal(
        await store.nodes.flag('s', 'n', { quarantined: true, maintenance: true, maintenanceUntil: until }),
        true
      )
      assert.equal(await store.nodes.flag('s', 'x', { quarantined: true }), false)
      const flagged = (await store.nodes.find('s', 'n')) as StoredNode
      assert.deepEqual([flagged.quarantined, flagged.maintenance, flagged.maintenanceUntil], [true, true, until])
      holds(flagged.version > seen.version, 'a flag changes the version')
      const replaced = await store.nodes.put('s', 'n', '{"a":1}', flagged.version)
      assert.deepEqual([replaced?.quarantined, replaced?.maintenance, replaced?.record], [true, true, '{"a":1}'])
      await store.nodes.flag('s', 'n', { maintenanceUntil: (await store.now()) - 1 })
      assert.equal((await store.nodes.find('s', 'n'))?.maintenance, false, 'its end has passed')
      await store.nodes.flag('s', 'n', { maintenance: true, maintenanceUntil: null })
      const open = await store.nodes.find('s', 'n')
      assert.deepEqual([open?.maintenance, open?.maintenanceUntil], [true, null])
      await store.nodes.flag('s', 'n', { quarantined: false, maintenance: false })
      const free = await store.nodes.find('s', 'n')
      assert.deepEqual([free?.quarantined, free?.maintenance, free?.maintenanceUntil], [false, false, null])
    }),
    each('lists nodes, and their changes since a version', async store => {
      const empty = await store.nodes.list('s')
      assert.deepEqual([empty.complete, empty.nodes, empty.removed], [true, [], []])
      for (const id of ['b', 'a', 'c']) await store.nodes.put('s', id, '{}', null)
      await store.nodes.put('t', 'z', '{}', null)
      const all = await store.nodes.list('s')
      assert.deepEqual(
        all.nodes.map(({ id }) => id),
        ['a', 'b', 'c']
      )
      const none = await store.nodes.list('s', all.version)
      assert.deepEqual([none.complete, none.nodes, none.removed, none.version], [false, [], [], all.version])
      await store.nodes.flag('s', 'c', { quarantined: true })
      assert.equal(await store.nodes.remove('s', 'a'), true)
      assert.equal(await store.nodes.remove('s', 'a'), false)
      const changed = await store.nodes.list('s', all.version)
      assert.deepEqual([changed.complete, changed.nodes.map(({ id }) => id), changed.removed], [false, ['c'], ['a']])
      holds(changed.version > all.version, 'the version grows')
      assert.deepEqual(
        (await store.nodes.list('s')).nodes.map(({ id }) => id),
        ['b', 'c']
      )
      const ahead = await store.nodes.list('s', changed.version + 1_000)
      assert.equal(ahead.complete, true, 'a version that the store does not know gives the complete list')
    }),
    each('a removed node can be added again, and is still in quarantine', async store => {
      await store.nodes.put('s', 'n', '{}', null)
      await store.nodes.flag('s', 'n', { quarantined: true, maintenance: true })
      const before = (await store.nodes.find('s', 'n')) as StoredNode
      await store.nodes.remove('s', 'n')
      assert.equal(await store.nodes.find('s', 'n'), null)
      assert.deepEqual(await store.nodes.seen('s', ['n']), [])
      assert.equal(await store.nodes.flag('s', 'n', { quarantined: false }), false)
      assert.equal(await store.nodes.put('s', 'n', '{"old":1}', before.version), null)
      const again = await store.nodes.put('s', 'n', '{"new":1}', null)
      assert.deepEqual([again?.record, again?.quarantined, again?.maintenance], ['{"new":1}', true, false])
      holds((again?.version ?? 0) > before.version, 'the version grows over the removal')
    }),

    each('replaces a shared text only if it is the expected one', async (store, bed) => {
      const other = await bed.another()
      assert.equal(await store.meta.get('a'), null)
      assert.equal(await store.meta.swap('a', 'x', 'y'), false)
      assert.equal(await store.meta.swap('a', null, 'x'), true)
      assert.equal(await other.meta.swap('a', null, 'y'), false)
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, at) => (at % 2 ? store : other).meta.swap('a', 'x', `${at}`))
      )
      assert.equal(all.filter(Boolean).length, 1)
      assert.equal(await store.meta.get('a'), String(all.indexOf(true)))
      assert.equal(await store.meta.swap('a', String(all.indexOf(true)), null), true)
      assert.equal(await other.meta.get('a'), null)
      assert.deepEqual([await store.meta.swap('a', null, null), await store.meta.swap('a', 'x', null)], [true, false])
    }),
    each('a value is used once, whichever store records it', async (store, bed) => {
      const other = await bed.another()
      const expiresAt = (await store.now()) + HOUR_MS
      const values = (...names: string[]) => names.map(value => ({ value, expiresAt }))
      assert.deepEqual(await store.useOnce(values('a', 'b', 'a')), [true, true, false])
      assert.deepEqual(await other.useOnce(values('b', 'c')), [false, true])
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, at) => (at % 2 ? store : other).useOnce(values('d')))
      )
      assert.equal(all.flat().filter(Boolean).length, 1)
    }),
    each('never gives more tokens than a bucket has, over all stores', async (store, bed) => {
      const other = await bed.another()
      // One token an hour: none is added during the test.
      const limit = { perSecond: 1 / 3_600, burst: 10, wanted: 3 }
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, at) => (at % 2 ? store : other).takeTokens('b', limit))
      )
      assert.deepEqual(
        [...all].sort((a, b) => b - a),
        [3, 3, 3, 1, 0, 0, 0, 0]
      )
      assert.equal(await store.takeTokens('c', { ...limit, wanted: 100 }), 10, 'buckets are separate')
      assert.equal(await store.takeTokens('d', { perSecond: 1e9, burst: 5, wanted: 5 }), 5)
      await after(store, await store.now())
      assert.equal(await store.takeTokens('d', { perSecond: 1e9, burst: 5, wanted: 5 }), 5, 'a bucket fills')
    }),
    each('an unsubscribed consumer gets no hints', async store => {
      const seen: string[] = []
      const end = store.hints(['q'], queue => seen.push(queue))
      end()
      end()
      await put(store, { queue: 'q', body: '1' })
      await sleep(50)
      assert.deepEqual(seen, [])
    }),
    each('no fence, lease or version repeats after the data went back to an earlier copy', async (first, bed) => {
      if (bed.goBack === undefined) return
      await first.put(['1', '2'].map(body => ({ queue: 'q', body })))
      const before = await claim(first, 'q', 'a', 1)
      const kept = await grant(first, 's', 'kept', 'a', LONG_MS)
      const node = (await first.nodes.put('s', 'n', '{}', null)) as StoredNode
      await bed.goBack.remember()
      // All of this is lost.
      assert.deepEqual(await first.nack(before.map(token), { delayMs: 0 }), [true])
      const lost = [...(await claim(first, 'q', 'b', 1))]
      assert.equal(lost[0]?.id, before[0]?.id)
      const [added] = await first.put([{ queue: 'q', body: '3', priority: 255 }])
      const addedClaim = [...(await claim(first, 'q', 'b', 1))]
      assert.equal(addedClaim[0]?.id, added?.id)
      const lostLease = await grant(first, 's', 'lost', 'b', LONG_MS)
      await first.nodes.flag('s', 'n', { quarantined: true })
      const { version } = await first.nodes.list('s')

      for (let round = 0; round < 2; round += 1) {
        const store: Coordination = await bed.goBack.restore()
        const tokens = [...before, ...lost, ...addedClaim].map(token)
        assert.deepEqual(await store.ack(tokens), [false, false, false], 'tokens of the lost time are refused')
        assert.deepEqual([await store.renew(kept, LONG_MS), await store.renew(lostLease, LONG_MS)], ['gone', 'gone'])
        assert.equal((await store.nodes.list('s', version)).complete, true)
        const [again] = await claim(store, 'q', 'c', 1)
        assert.equal(again?.id, before[0]?.id)
        holds(token(again).fence > token(lost[0]).fence, 'the fence of the item is above the lost one')
        const [other] = await store.put([{ queue: 'q', body: '4', priority: 255 }])
        const [otherClaim] = await claim(store, 'q', 'c', 1)
        assert.equal(otherClaim?.id, other?.id)
        holds(token(otherClaim).fence > token(addedClaim[0]).fence, 'so is that of an item with a repeated id')
        const lease = await grant(store, 's', 'kept', 'c', LONG_MS)
        holds(lease.fence > lostLease.fence, 'and that of a named lease')
        const changed = await store.nodes.put('s', 'n', '{"a":1}', node.version)
        holds((changed?.version ?? 0) > version, 'and the version of a node')
        // The next round goes back behind these tokens.
        lost[0] = again as ClaimedItem
        addedClaim[0] = otherClaim as ClaimedItem
        Object.assign(lostLease, lease)
      }
    })
  ]
}

async function put(store: Coordination, item: NewItem): Promise<number> {
  const [result] = await store.put([item])
  holds(result?.fresh === true, 'the item is added')
  return result.id
}

function claim(store: Coordination, queue: string, holder: string, max: number): Promise<readonly ClaimedItem[]> {
  return store.claim(queue, holder, { max, leaseMs: LONG_MS })
}

async function grant(
  store: Coordination,
  scope: string,
  key: string,
  holder: string,
  leaseMs: number
): Promise<NamedLease> {
  const lease = await store.grant(scope, key, holder, leaseMs)
  holds('fence' in lease, `the lease ${key} is granted to ${holder}`)
  return lease
}

function token(item: ItemToken | undefined): ItemToken {
  holds(item !== undefined, 'an item was claimed')
  return { id: item.id, fence: item.fence }
}

function bodies(items: readonly { readonly body: string }[]): string[] {
  return items.map(({ body }) => body)
}

/** Waits until the store's time is later than `time`. */
async function after(store: Coordination, time: number): Promise<void> {
  while ((await store.now()) <= time) await sleep(1)
}

async function expired(store: Coordination, item: ClaimedItem | undefined): Promise<void> {
  holds(item !== undefined, 'an item was claimed')
  await after(store, item.visibleAt)
}

/** Claims an item as soon as one is due. */
async function claimWhenDue(store: Coordination, queue: string, holder: string): Promise<[ClaimedItem]> {
  for (;;) {
    const [item] = await claim(store, queue, holder, 1)
    if (item !== undefined) return [item]
    await sleep(1)
  }
}
