import fc from 'fast-check'
import t from 'tap'
import { type Attempt, Breaker } from '#root'

t.test('three failures open the breaker for 5 s, then one trial is admitted', async t => {
  let now = 0
  const breaker = new Breaker(() => now)
  const fail = () => breaker.begin().settle('failed')
  fail()
  fail()
  t.equal(breaker.state, 'closed')
  breaker.begin().settle('succeeded')
  fail()
  fail()
  t.equal(breaker.state, 'closed', 'only consecutive failures count')
  fail()
  t.match([breaker.state, breaker.waitMs()], ['open', 5_000])
  now = 4_999
  t.equal(breaker.waitMs(), 1)
  now = 5_000
  t.match([breaker.state, breaker.waitMs()], ['half-open', 0])
  const trial = breaker.begin()
  t.ok(breaker.waitMs() > 0, 'one trial at a time')
  trial.settle('failed')
  t.equal(breaker.waitMs(), 10_000)
  breaker.retryNow()
  t.equal(breaker.waitMs(), 0)
  breaker.begin().respond()
  t.equal(breaker.state, 'closed')
})

/** Commands of the model: time passes, or one of the requests in flight ends. */
const command = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 30_000 }) }),
  fc.record({ kind: fc.constant('begin' as const) }),
  fc.record({
    kind: fc.constant('end' as const),
    which: fc.nat(20),
    outcome: fc.constantFrom('succeeded' as const, 'failed' as const, 'ended' as const)
  }),
  fc.record({ kind: fc.constant('respond' as const), which: fc.nat(20) })
)

t.test('for any order of requests and outcomes, the breaker follows its model', async t => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 120 }), commands => {
      let now = 0
      const breaker = new Breaker(() => now)
      const inFlight: Attempt[] = []
      // The model: length and end of the open period, failures in a row, and the trial.
      let openMs = 0
      let openUntil = 0
      let failures = 0
      let trial: Attempt | null = null
      const close = () => {
        openMs = 0
        trial = null
      }
      for (const each of commands) {
        if (each.kind === 'wait') now += each.ms
        if (each.kind === 'begin' && breaker.waitMs() === 0) {
          const attempt = breaker.begin()
          if (openMs > 0) {
            if (now < openUntil || trial !== null) throw new Error('a request was admitted too early')
            trial = attempt
          }
          inFlight.push(attempt)
        }
        if (each.kind === 'respond' && inFlight.length > 0) {
          ;(inFlight[each.which % inFlight.length] as Attempt).respond()
          close()
        }
        if (each.kind === 'end' && inFlight.length > 0) {
          const [attempt] = inFlight.splice(each.which % inFlight.length, 1) as [Attempt]
          const isTrial = attempt === trial
          if (isTrial) trial = null
          attempt.settle(each.outcome)
          attempt.settle('failed')
          if (each.outcome === 'succeeded') {
            close()
            failures = 0
          } else if (each.outcome === 'failed' && (openMs === 0 || isTrial)) {
            failures += 1
            if (isTrial && openMs > 0) openMs = Math.min(60_000, openMs * 2)
            else if (failures >= 3) openMs = 5_000
            if (openMs > 0) {
              failures = 0
              openUntil = now + openMs
            }
          }
        }
        const state = openMs === 0 ? 'closed' : now < openUntil ? 'open' : 'half-open'
        if (breaker.state !== state) throw new Error(`the breaker is ${breaker.state}, not ${state}`)
        const isAdmitted = state === 'closed' || (state === 'half-open' && trial === null)
        if ((breaker.waitMs() === 0) !== isAdmitted) throw new Error(`waitMs is ${breaker.waitMs()} while ${state}`)
        if (breaker.waitMs() > 60_000) throw new Error('the breaker is open for longer than 60 s')
      }
    }),
    { numRuns: 500 }
  )
  t.pass()
})
