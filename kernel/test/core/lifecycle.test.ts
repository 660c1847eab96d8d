import type { PluginState } from '@svc/contracts'
import { World } from '@svc/kernel/testing'
import { definePlugin } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Lifecycle, SERVING, TRANSITIONS } from '#core'

/** The record of a plugin that does not run. */
async function record(t: Test) {
  const world = new World(t).put(definePlugin({ name: 'demo', activate() {} })).say({ demo: { enabled: false } })
  await world.apply()
  return world.kernel.records.get('demo')!
}

const STATES = Object.keys(TRANSITIONS) as PluginState[]

t.test('every walk takes allowed steps and refuses the others without moving', t => {
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

t.test('every state can be reached from the first, and every one leads back to it or ends', t => {
  const reach = (from: PluginState): Set<PluginState> => {
    const seen = new Set<PluginState>([from])
    for (const state of seen) for (const next of TRANSITIONS[state]) seen.add(next)
    return seen
  }
  t.same([...reach('discovered')].sort(), [...STATES].sort())
  for (const state of STATES) t.ok(reach(state).has('discovered'), `${state} can begin again`)
  t.end()
})

t.test('only serving states may degrade, and a plugin serves only after activating', t => {
  for (const state of STATES) {
    if (TRANSITIONS[state].includes('degraded')) t.ok(SERVING.has(state))
    if (TRANSITIONS[state].includes('active')) t.ok(state === 'activating' || state === 'degraded')
  }
  t.end()
})

t.test('five failures in ten minutes quarantine a plugin until a person forgives them', async t => {
  const demo = await record(t)
  for (let failure = 1; failure <= 4; failure++) t.equal(demo.fail('boom', failure * 1000), false)
  t.equal(demo.state, 'failed')
  t.equal(demo.fail('boom', 5_000), true)
  t.equal(demo.state, 'quarantined')
  t.match(demo.why, /svc plugins enable demo/)
  demo.forgive()
  t.equal(demo.state, 'discovered')
})

t.test('failures that lie far apart do not add up', async t => {
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
