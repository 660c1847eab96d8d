import fc from 'fast-check'
import t from 'tap'
import { drawSelected, selectTokens } from '#sampling'

const values = fc.array(fc.oneof(fc.float({ noNaN: true, min: 0, max: 50 }), fc.constantFrom(0, 1, 1.5)), {
  minLength: 1,
  maxLength: 400
})

t.test('selects the tokens that a full sort puts first, up to a count or a sum of weights', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        values,
        fc.constantFrom('largest' as const, 'smallest' as const),
        fc.nat(100),
        fc.boolean(),
        fc.boolean(),
        (numbers, order, share, weighted, all) => {
          const keys = Float32Array.from(numbers)
          // Whole weights, so that sums have no rounding errors.
          const weights = weighted ? Float32Array.from(numbers, (_, i) => 1 + (i % 3)) : null
          const pool = all ? null : Int32Array.from(keys.keys()).filter(token => token % 2 === 0)
          const tokens = [...(pool ?? keys.keys())]
          const total = tokens.reduce((sum, token) => sum + (weights?.[token] ?? 1), 0)
          const limit = (share / 100) * total
          const sign = order === 'largest' ? -1 : 1
          const sorted = tokens.sort((a, b) => sign * (keys[a]! - keys[b]!) || a - b)
          const expected: number[] = []
          let reached = 0
          for (const token of sorted) {
            expected.push(token)
            reached += weights?.[token] ?? 1
            if (reached >= limit) break
          }
          const selected = selectTokens({ keys, order, weights, limit, pool })
          return `${selected}` === `${expected.sort((a, b) => a - b)}`
        }
      ),
      { numRuns: 500 }
    )
  )
})

t.test('a draw without a list chooses as one from the list, for each random number', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        values,
        fc.constantFrom('largest' as const, 'smallest' as const),
        fc.nat(110),
        fc.constantFrom('count' as const, 'weight' as const, 'another weight' as const),
        (numbers, order, percent, by) => {
          const keys = Float32Array.from(numbers)
          const drawn = Float32Array.from(numbers, (_, i) => i % 4)
          const weights = { count: null, weight: drawn, 'another weight': drawn.map(weight => weight + 1) }[by]
          const limit = (percent / 100) * (weights?.reduce((a, b) => a + b, 0) ?? keys.length)
          const selection = { keys, order, weights, limit, pool: null }
          const list = [...selectTokens(selection)].flatMap(token => Array<number>(drawn[token]!).fill(token))
          const token = (share: number) => drawSelected(selection, drawn, share)
          return list.length === 0
            ? token(0.5) === null
            : list.every((expected, i) => token((i + 0.5) / list.length) === expected)
        }
      ),
      { numRuns: 500 }
    )
  )
})
