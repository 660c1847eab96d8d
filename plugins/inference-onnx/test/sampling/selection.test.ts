import fc from 'fast-check'
import t from 'tap'
import { selectTokens } from '#sampling'

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
