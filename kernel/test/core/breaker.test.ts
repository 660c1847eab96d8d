import fc from 'fast-check'
import t from 'tap'
import { Breaker } from '#core'

const policy = { failures: 3, windowMs: 1000, halfOpenMs: 500 }

t.test('opens after enough faults within the window, lets one probe through, closes when it succeeds', t => {
  let now = 0
  const breaker = new Breaker(policy, () => now)
  t.equal(breaker.fault(), false)
  t.equal(breaker.fault(), false)
  t.equal(breaker.fault(), true)
  t.equal(breaker.admit(), 500)
  now = 500
  t.equal(breaker.admit(), 0, 'the probe')
  t.ok(breaker.admit() > 0, 'only one at a time')
  t.equal(breaker.succeed(), true)
  t.equal(breaker.admit(), 0)
  t.end()
})

t.test('faults outside of the window do not count', t => {
  let now = 0
  const breaker = new Breaker(policy, () => now)
  for (let fault = 0; fault < 10; fault++) {
    t.equal(breaker.fault(), false)
    now += 600
  }
  t.end()
})

t.test('a failed probe keeps it open for another period', t => {
  let now = 0
  const breaker = new Breaker(policy, () => now)
  for (let fault = 0; fault < 3; fault++) breaker.fault()
  now = 500
  breaker.admit()
  breaker.fault()
  t.equal(breaker.admit(), 500)
  t.end()
})

t.test('zero failures switches it off', t => {
  const breaker = new Breaker({ ...policy, failures: 0 })
  for (let fault = 0; fault < 100; fault++) breaker.fault()
  t.equal(breaker.admit(), 0)
  t.end()
})

t.test('the window excludes a fault that is exactly as old as it', t => {
  let now = 0
  const breaker = new Breaker(policy, () => now)
  breaker.fault()
  now = 1
  breaker.fault()
  now = 1000
  t.equal(breaker.fault(), false, 'the first fault is 1,000 ms old')
  t.equal(breaker.fault(), true)
  t.ok(breaker.open)
  t.end()
})

t.test('an open breaker reports the milliseconds left, and the fault that opened it only once', t => {
  let now = 0
  const breaker = new Breaker({ failures: 1, windowMs: 1000, halfOpenMs: 500 }, () => now)
  t.notOk(breaker.open)
  t.equal(breaker.fault(), true)
  now = 200
  t.equal(breaker.admit(), 300)
  t.equal(breaker.fault(), false, 'a call that was admitted before')
  t.equal(breaker.admit(), 500, 'it counts from the last fault')
  now = 700
  t.equal(breaker.admit(), 0)
  t.equal(breaker.admit(), 500, 'the next probe comes a period after this one')
  t.end()
})

t.test('a released probe makes room for the next call, and a released call of a closed breaker nothing', t => {
  let now = 0
  const breaker = new Breaker({ ...policy, failures: 1 }, () => now)
  breaker.release()
  t.equal(breaker.admit(), 0)
  breaker.fault()
  now = 500
  t.equal(breaker.admit(), 0)
  breaker.release()
  t.ok(breaker.open)
  t.equal(breaker.admit(), 0)
  t.end()
})

t.test('a success forgets the faults before it only when the breaker was open', t => {
  const breaker = new Breaker(policy, () => 0)
  breaker.fault()
  breaker.fault()
  t.equal(breaker.succeed(), false)
  t.equal(breaker.fault(), true, 'a success between faults does not reset them')
  t.equal(breaker.succeed(), true)
  t.notOk(breaker.open)
  t.equal(breaker.fault(), false)
  t.equal(breaker.fault(), false)
  t.equal(breaker.fault(), true)
  t.end()
})

type Event =
  | { readonly kind: 'fault' | 'succeed' | 'call' | 'release' }
  | { readonly kind: 'wait'; readonly ms: number }

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<Event>({ kind: 'fault' }, { kind: 'call' }) },
  { weight: 1, arbitrary: fc.constantFrom<Event>({ kind: 'succeed' }, { kind: 'release' }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 700 }).map((ms): Event => ({ kind: 'wait', ms })) }
)

t.test('for any history: it opens at the limit, and lets one call through in each period', t => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (events, failures) => {
      let now = 0
      const breaker = new Breaker({ failures, windowMs: 1000, halfOpenMs: 500 }, () => now)
      /** Times of all faults since it was last closed. */
      let faults: number[] = []
      let open = false
      /** The last time at which it was certainly shut: a fault, or an admitted probe. */
      let shutAt = 0
      for (const each of events) {
        if (each.kind === 'wait') now += each.ms
        else if (each.kind === 'fault') {
          faults.push(now)
          const recent = faults.filter(at => now - at < 1000).length
          const opens: boolean = !open && recent >= failures
          if (breaker.fault() !== opens) return false
          if (open || opens) shutAt = now
          open ||= opens
        } else if (each.kind === 'succeed') {
          if (breaker.succeed() !== open) return false
          if (open) faults = []
          open = false
        } else if (each.kind === 'call') {
          const wait = breaker.admit()
          if (!open && wait !== 0) return false
          if (open && wait !== Math.max(0, shutAt + 500 - now)) return false
          if (open && wait === 0) shutAt = now
        } else {
          breaker.release()
          // The next call may be let through at once, at the earliest a period after the last fault.
          const last = faults.at(-1)
          if (open && last !== undefined) shutAt = last
        }
        if (breaker.open !== open) return false
      }
      return true
    })
  )
  t.end()
})
