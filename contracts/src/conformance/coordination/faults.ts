import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSvcError } from '@svc/plugin-sdk'
import {
  type ClaimedItem,
  type Coordination,
  MAX_COORDINATION_BATCH,
  MAX_COORDINATION_KEY,
  MAX_COORDINATION_NAME,
  MAX_ITEM_BODY_BYTES,
  type NewItem,
  type StoredNode
} from '../../coordination/store.ts'
import { type ConformanceSuite, holds } from '../suite.ts'
import { bodies, claim, type EachStore, grant, LONG_MS, put, token } from './bed.ts'

/** Large and wrong input, contention, and data that went back to an earlier copy. */
export function faultCases(each: EachStore): ConformanceSuite {
  return [
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
