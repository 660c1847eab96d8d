import fc from 'fast-check'
import t from 'tap'
import { arrange, type CacheRow, gather } from '#batching'

function rows(lengths: readonly number[]): CacheRow[] {
  return lengths.map((length, index) => ({ index, length, tokens: [], weights: null, inUse: true, releasedAt: 0 }))
}

const places = (pairs: ReturnType<typeof gather>) => pairs.map(pair => pair.map(({ index }) => index))

t.test('adjacent rows are not moved', async t => {
  const all = rows([9, 9, 9, 9])
  t.same(gather(all, [all[1]!, all[2]!]), [])
  t.same(gather(all, [all[3]!]), [])
})

t.test('a gap is closed with the fewest copies', async t => {
  const all = rows([5, 3, 100, 0])
  t.same(places(gather(all, [all[0]!, all[2]!])), [[0, 3]])
  t.same(places(gather(all, [all[0]!, all[2]!, all[3]!])), [[3, 1]])
})

t.test('gather: after the swaps, the requested rows are adjacent and indexes are unique', async () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(50), fc.boolean()), { minLength: 1, maxLength: 12 }), entries => {
      const all = rows(entries.map(([length]) => length))
      const wanted = all.filter((_, index) => entries[index]?.[1])
      if (wanted.length === 0) return true
      for (const [a, b] of gather(all, wanted)) [a.index, b.index] = [b.index, a.index]
      const found = wanted.map(({ index }) => index)
      return (
        Math.max(...found) - Math.min(...found) === wanted.length - 1 &&
        new Set(all.map(({ index }) => index)).size === all.length
      )
    })
  )
})

t.test('arrange: after the swaps, each group is adjacent and indexes are unique', async () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(50), fc.nat(4)), { minLength: 1, maxLength: 12 }), entries => {
      const all = rows(entries.map(([length]) => length))
      const groups = [1, 2, 3, 4]
        .map(group => all.filter((_, index) => entries[index]?.[1] === group))
        .filter(group => group.length > 0)
      for (const [a, b] of arrange(all, groups)) [a.index, b.index] = [b.index, a.index]
      return (
        groups.every(group => gather(all, group).length === 0) &&
        arrange(all, groups).length === 0 &&
        new Set(all.map(({ index }) => index)).size === all.length
      )
    })
  )
})
