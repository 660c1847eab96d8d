import assert from 'node:assert/strict'
import type { ConformanceSuite } from '../suite.ts'
import { after, type EachStore, HOUR_MS } from './bed.ts'

/** Shared texts, values that are used once, and buckets of tokens. */
export function sharedValueCases(each: EachStore): ConformanceSuite {
  return [
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
    })
  ]
}
