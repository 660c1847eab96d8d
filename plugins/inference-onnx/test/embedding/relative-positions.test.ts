import t from 'tap'
import { bucketOf } from '#embedding'

/** Distance and bucket of a token before the current one, of 32 buckets, as transformers computes them for MPNet. */
const expected = [
  [0, 0],
  [1, 1],
  [7, 7],
  [8, 8],
  [9, 8],
  [11, 8],
  [12, 9],
  [15, 9],
  [16, 10],
  [22, 10],
  [23, 11],
  [31, 11],
  [32, 12],
  [45, 12],
  [46, 13],
  [63, 13],
  [64, 14],
  [90, 14],
  [91, 15],
  [127, 15],
  [128, 15],
  [500, 15]
] as const

t.test('buckets of relative positions equal the reference, at their edges too', async t => {
  for (const [distance, bucket] of expected) {
    t.equal(bucketOf(-distance, 32), bucket, `${distance} tokens before`)
    if (distance > 0) t.equal(bucketOf(distance, 32), bucket + 16, `${distance} tokens after`)
  }
})
