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
