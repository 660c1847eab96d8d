import { xxhash3 } from 'hash-wasm'
import t from 'tap'
import { rolloutBucket, takesPart } from '#assess'

t.test('the hash is 64-bit XXH3 with seed 0', async t => {
  // From the test vectors of the reference implementation.
  t.equal(await xxhash3(''), '2d06800538d394c2')
  t.equal(await xxhash3('a'), 'e6c632b61e964e1f')
  t.equal(await xxhash3('abc'), '78af5f94892f3950')
})

t.test('rolloutBucket returns the hash of the goal modulo 100, always the same', async t => {
  t.equal(await rolloutBucket('abc'), Number(0x78af5f94892f3950n % 100n))
  t.equal(await rolloutBucket('größer'), await rolloutBucket('größer'))
})

t.test('no goal takes part at 0 percent, every goal at 100, and a higher percentage only adds goals', async t => {
  for (const goal of ['abc', 'fix the parser', 'größer', '']) {
    t.equal(await takesPart(goal, 0), false)
    t.equal(await takesPart(goal, 100), true)
    const bucket = await rolloutBucket(goal)
    t.equal(await takesPart(goal, bucket), false)
    t.equal(await takesPart(goal, bucket + 1), true)
  }
})
