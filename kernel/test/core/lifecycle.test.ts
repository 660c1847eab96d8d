import type { PluginState } from '@svc/contracts'
import { World } from '@svc/kernel/testing'
import { definePlugin } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Lifecycle, SERVING, TRANSITIONS } from '#core'

/** Returns the record of a plugin that does not run. */
async function record(t: Test) {
  const world = new World(t).put(definePlugin({ name: 'demo', activate() {} })).configure({ demo: { enabled: false } })
  await world.apply()
  return world.kernel.records.get('demo')!
}

const STATES = Object.keys(TRANSITIONS) as PluginState[]

t.test('for any steps: allowed transitions happen, others throw and keep the state', t => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...STATES), { maxLength: 40 }), steps => {
      const lifecycle = new Lifecycle('demo')
      for (const next of steps) {
        const from = lifecycle.state
        const allowed = from === next || TRANSITIONS[from].includes(next)
        try {
          lifecycle.to(next)
          if (!allowed || lifecycle.state !== next) return false
        } catch {
          if (allowed || lifecycle.state !== from) return false
        }
      }
      return true
    })
  )
  t.end()
})

t.test('every state is reachable from the first, and leads back to it or is final', t => {
  const reach = (from: PluginState): Set<PluginState> => {
    const seen = new Set<PluginState>([from])
    for (const state of seen) for (const next of TRANSITIONS[state]) seen.add(next)
    return seen
  }
  t.same([...reach('discovered')].sort(), [...STATES].sort())
  for (const state of STATES) t.ok(reach(state).has('discovered'), `${state} leads back to discovered`)
  t.end()
})

t.test('only serving states can become degraded, and only activation leads to a serving state', t => {
  for (const state of STATES) {
    if (TRANSITIONS[state].includes('degraded')) t.ok(SERVING.has(state))
    if (TRANSITIONS[state].includes('active')) t.ok(state === 'activating' || state === 'degraded')
  }
  t.end()
})

t.test('five failures in ten minutes quarantine a plugin until its failures are cleared', async t => {
  const demo = await record(t)
  for (let failure = 1; failure <= 4; failure++) t.equal(demo.fail('boom', failure * 1000), false)
  t.equal(demo.state, 'failed')
  t.equal(demo.fail('boom', 5_000), true)
  t.equal(demo.state, 'quarantined')
  t.match(demo.why, /svc plugins enable demo/)
  demo.clearFailures()
  t.equal(demo.state, 'discovered')
})

t.test('failures outside ten minutes do not count', async t => {
  const demo = await record(t)
  for (let failure = 0; failure < 20; failure++) t.equal(demo.fail('boom', failure * 11 * 60_000), false)
})

t.test('retries back off exponentially up to five minutes', async t => {
  const demo = await record(t)
  const delays: number[] = []
  for (let failure = 0; failure < 12; failure++) {
    demo.fail('boom', failure * 11 * 60_000)
    demo.fail('boom', failure * 11 * 60_000 + 1)
    delays.push(
      demo.scheduleRetry(
        () => {},
        () => 1
      )
    )
    demo.cancelRetry()
  }
  t.ok(delays.every(delay => delay >= 1_000 && delay <= 300_000))
})

t.test('the error of a forbidden transition names the plugin and both states', t => {
  const lifecycle = new Lifecycle('plugin demo', 'draining')
  t.throws(() => lifecycle.to('active'), { message: 'plugin demo cannot go from draining to active' })
  t.equal(lifecycle.state, 'draining')
  t.end()
})

t.test('a listener is called after each change of state, but not for the same state', t => {
  const seen: string[] = []
  const lifecycle: Lifecycle = new Lifecycle('demo', 'discovered', state => seen.push(`${state} ${lifecycle.state}`))
  for (const state of ['resolved', 'resolved', 'loading', 'activating', 'active', 'active'] as const)
    lifecycle.to(state)
  t.same(seen, ['resolved resolved', 'loading loading', 'activating activating', 'active active'])
  t.end()
})

t.test('a plugin that does not run changes between its states, with the reason', async t => {
  const demo = await record(t)
  const rests = ['invalid', 'disabled', 'resolved', 'waiting'] as const
  for (const from of rests) {
    for (const to of rests) {
      demo.setInactive(from, `from ${from}`)
      t.match(demo, { state: from, why: `from ${from}` })
      demo.setInactive(to, null)
      t.match(demo, { state: to, why: null })
    }
  }
})

t.test('the reason of a refused change is shown instead of the fault until a change succeeds', async t => {
  const demo = await record(t)
  demo.fault = 'no code'
  t.equal(demo.why, 'no code')
  demo.refusal = 'no room'
  t.equal(demo.why, 'last change refused: no room')
  demo.refusal = null
  t.equal(demo.why, 'no code')
})

t.test('`failed` is true in the states failed and quarantined, and both can recover', async t => {
  const demo = await record(t)
  t.notOk(demo.failed)
  demo.fail('boom', 0)
  t.match(demo, { failed: true, quarantined: false, why: 'boom' })
  demo.recover()
  t.match(demo, { failed: false, state: 'discovered' })
  for (let failure = 0; failure < 4; failure++) demo.fail('boom', failure)
  t.match(demo, { failed: true, quarantined: true }, 'a recovery keeps the failure count')
  t.equal(demo.why, 'boom (5 failures in 10 minutes; run: svc plugins enable demo)')
  demo.clearFailures()
  t.notOk(demo.failed)
  t.equal(demo.fail('boom', 5), false, 'clearFailures resets the count')
})

t.test('a failure counts for exactly ten minutes', async t => {
  const MINUTES = 10 * 60_000
  for (const [last, expected] of [
    [MINUTES - 1, true],
    [MINUTES, false]
  ] as const) {
    const demo = await record(t)
    for (const at of [0, 1, 2, 3]) t.notOk(demo.count(at))
    t.equal(demo.count(last), expected, `${last} ms after the first`)
  }
})

t.test('for any failures: the fifth within ten minutes causes quarantine', async t => {
  const demo = await record(t)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 6 * 60_000 }), { maxLength: 20 }), gaps => {
      demo.clearFailures()
      let now = 0
      const failures: number[] = []
      for (const gap of gaps) {
        now += gap
        failures.push(now)
        const recent = failures.filter(at => at > now - 10 * 60_000).length
        if (demo.fail('boom', now) !== recent >= 5) return false
        if (demo.quarantined) {
          demo.clearFailures()
          failures.length = 0
        }
      }
      return true
    })
  )
})

t.test('the wait before a retry doubles from a second to five minutes, half of it random', async t => {
  const demo = await record(t)
  const wait = (random: number): number => {
    const delay = demo.scheduleRetry(
      () => {},
      () => random
    )
    demo.cancelRetry()
    return delay
  }
  t.same([wait(0), wait(1)], [500, 1_000], 'without failures the delay is that after the first')
  const ceilings: number[] = []
  for (let failure = 1; failure <= 11; failure++) {
    demo.count(failure)
    const ceiling = wait(1)
    t.equal(wait(0), ceiling / 2)
    t.equal(wait(0.5), ceiling * 0.75)
    ceilings.push(ceiling)
  }
  t.same(ceilings.slice(0, 5), [1_000, 2_000, 4_000, 8_000, 16_000])
  t.same(ceilings.slice(-3), [256_000, 300_000, 300_000])
})

t.test('a scheduled retry runs once, is replaced by a new one, and is cancelled by recovery', async t => {
  const demo = await record(t)
  const timers: { run: (() => void) | undefined; readonly delay: number }[] = []
  t.intercept(globalThis, 'setTimeout', {
    value: (run: () => void, delay: number) => {
      const timer = { run: run as (() => void) | undefined, delay, unref: () => {} }
      timers.push(timer)
      return timer
    }
  })
  t.intercept(globalThis, 'clearTimeout', {
    value: (timer: (typeof timers)[number] | undefined) => {
      if (timer !== undefined) timer.run = undefined
    }
  })
  const runs: string[] = []
  const schedule = (name: string): number =>
    demo.scheduleRetry(
      () => void runs.push(`${name} ${demo.retrying}`),
      () => 1
    )
  schedule('first')
  schedule('second')
  t.ok(demo.retrying)
  for (const timer of timers) timer.run?.()
  t.same(runs, ['second false'], '`retrying` is false when the retry runs')
  schedule('third')
  demo.recover()
  t.notOk(demo.retrying)
  for (const timer of timers.slice(2)) timer.run?.()
  t.same(runs, ['second false'])
  t.same(
    timers.map(({ delay }) => delay),
    [1_000, 1_000, 1_000]
  )
})
