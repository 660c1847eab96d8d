import fc from 'fast-check'
import t from 'tap'
import { RateLimits } from '#auth'

t.test('at most max calls pass at once, and then one per interval', t => {
  let now = 0
  const limits = new RateLimits(() => now)
  const limit = { max: 3, windowMs: 3_000 }
  t.same(
    [1, 2, 3, 4].map(() => limits.take('a', limit)),
    [0, 0, 0, 1_000]
  )
  t.equal(limits.take('b', limit), 0, 'another subject has a separate limit')
  now = 999
  t.equal(limits.take('a', limit), 1)
  now = 1_000
  t.same([limits.take('a', limit), limits.take('a', limit)], [0, 1_000])
  now = 60_000
  t.same(
    [1, 2, 3, 4].map(() => limits.take('a', limit)),
    [0, 0, 0, 1_000],
    'unused calls do not add up'
  )
  t.end()
})

t.test('a limit that is made shorter does not refuse calls for the time of the longer one', t => {
  let now = 0
  const limits = new RateLimits(() => now)
  limits.take('a', { max: 1, windowMs: 86_400_000 })
  t.equal(limits.take('a', { max: 1, windowMs: 1_000 }), 1_000)
  now = 1_000
  t.equal(limits.take('a', { max: 1, windowMs: 1_000 }), 0)
  t.end()
})

t.test('in every window of time, at most twice the limit passes, and a caller below the rate always passes', t => {
  const calls = fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(calls, fc.integer({ min: 1, max: 20 }), (pauses, max) => {
      let now = 0
      const windowMs = 1_000
      const limits = new RateLimits(() => now)
      const passed: number[] = []
      for (const pause of pauses) {
        now += pause
        if (limits.take('a', { max, windowMs }) === 0) passed.push(now)
      }
      for (const from of passed)
        if (passed.filter(at => at >= from && at < from + windowMs).length > 2 * max) return false
      return true
    })
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 300 }), (max, count) => {
      let now = 0
      const limits = new RateLimits(() => now)
      return Array.from({ length: count }).every(() => {
        const isPassed = limits.take('a', { max, windowMs: 60_000 }) === 0
        now += 60_000 / max
        return isPassed
      })
    })
  )
  t.end()
})

t.test('the number of remembered subjects is bounded, and the least recent one is forgotten', t => {
  const limits = new RateLimits(() => 0, 2)
  const limit = { max: 1, windowMs: 1_000 }
  for (const subject of ['a', 'b', 'a', 'c']) limits.take(subject, limit)
  t.equal(limits.size, 2)
  t.not(limits.take('a', limit), 0, 'recent')
  t.equal(limits.take('b', limit), 0, 'forgotten')
  t.end()
})
