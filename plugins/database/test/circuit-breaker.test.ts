import { databaseErrors } from '@svc/contracts'
import t from 'tap'
import { CircuitBreaker } from '#root'

const fault = async (): Promise<never> => {
  throw databaseErrors.create('DBS_UNREACHABLE', 'gone')
}
const refusal = async (): Promise<never> => {
  throw databaseErrors.create('DBS_CONSTRAINT', 'twice')
}
const fine = async (): Promise<string> => 'fine'

function makeBreaker() {
  let now = 0
  const breaker = new CircuitBreaker(() => now)
  return { breaker, pass: (ms: number) => (now += ms) }
}

async function trip(breaker: CircuitBreaker, times: number): Promise<void> {
  for (let at = 0; at < times; at += 1) await breaker.call(fault).catch(() => {})
}

const OPEN = { code: 'DBP_CIRCUIT_OPEN', message: /circuit breaker is open/ }

t.test('five consecutive faults open the breaker, which then rejects writes without an attempt', async t => {
  const { breaker } = makeBreaker()
  await trip(breaker, 4)
  await t.resolves(breaker.call(fine))
  await trip(breaker, 5)
  let tried = false
  await t.rejects(
    breaker.call(async () => {
      tried = true
    }),
    OPEN
  )
  t.notOk(tried)
})

t.test('an error of a statement is not a fault', async t => {
  const { breaker } = makeBreaker()
  await trip(breaker, 4)
  await t.rejects(breaker.call(refusal), { code: 'DBS_CONSTRAINT' })
  await trip(breaker, 4)
  t.equal(await breaker.call(fine), 'fine')
  for (let at = 0; at < 10; at += 1) await breaker.call(refusal).catch(() => {})
  t.equal(await breaker.call(fine), 'fine')
})

t.test('after 30 seconds one call is a probe: success closes the breaker, a fault opens it again', async t => {
  const { breaker, pass } = makeBreaker()
  await trip(breaker, 5)
  pass(29_999)
  await t.rejects(breaker.call(fine), OPEN)
  pass(1)
  await t.rejects(breaker.call(fault), { code: 'DBS_UNREACHABLE' })
  await t.rejects(breaker.call(fine), OPEN)
  pass(30_000)
  let finish = (): void => {}
  const probe = breaker.call(
    () =>
      new Promise<void>(resolve => {
        finish = resolve
      })
  )
  await t.rejects(breaker.call(fine), OPEN, 'other calls are rejected until the probe has ended')
  finish()
  await probe
  t.equal(await breaker.call(fine), 'fine')
})
