import fc from 'fast-check'
import t from 'tap'
import { forwardClock } from '#service'

t.test('the clock never goes back, and continues after the system clock was set back', async t => {
  let system = 1_000
  const now = forwardClock(() => system)
  const seen = [900, 905, 905, 1_000, 2_000, 10, 20].map(time => {
    system = time
    return now()
  })
  t.same(seen, [900, 905, 905, 1_000, 2_000, 2_000, 2_010])
  system = 3_000
  t.equal(now(), 3_000, 'the system clock has caught up')
})

t.test('measures elapsed time correctly for any system clock', async () => {
  const steps = fc.array(fc.integer({ min: -1_000, max: 1_000 }), { maxLength: 50 })
  fc.assert(
    fc.property(steps, jumps => {
      let system = 100_000
      const now = forwardClock(() => system)
      let before = now()
      for (const jump of jumps) {
        system += jump
        const at = now()
        const passed = at - before
        if (passed < 0 || passed > Math.max(0, jump)) return false
        if (at < system) return false
        before = at
      }
      return true
    })
  )
})
