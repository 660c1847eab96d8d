import type { PluginState } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { Lifecycle, SERVING, TRANSITIONS } from '../src/core/lifecycle.ts'
import { inlineSource } from '../src/core/plugin-source.ts'
import { PluginRecord } from '../src/core/record.ts'

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

t.test('five failures in ten minutes quarantine a plugin; a person forgives', t => {
  const record = new PluginRecord(inlineSource(definePlugin({ name: 'demo', activate() {} })))
  for (let failure = 1; failure <= 4; failure++) t.equal(record.fail('boom', failure * 1000), false)
  t.equal(record.state, 'failed')
  t.equal(record.fail('boom', 5_000), true)
  t.equal(record.state, 'quarantined')
  t.match(record.why, /svc plugins enable demo/)
  record.forgive()
  t.equal(record.state, 'discovered')
  t.end()
})

t.test('failures that lie far apart do not add up', t => {
  const record = new PluginRecord(inlineSource(definePlugin({ name: 'demo', activate() {} })))
  for (let failure = 0; failure < 20; failure++) t.equal(record.fail('boom', failure * 11 * 60_000), false)
  t.end()
})

t.test('retries back off exponentially up to five minutes', t => {
  const record = new PluginRecord(inlineSource(definePlugin({ name: 'demo', activate() {} })))
  const delays: number[] = []
  for (let failure = 0; failure < 12; failure++) {
    record.fail('boom', failure * 11 * 60_000)
    record.fail('boom', failure * 11 * 60_000 + 1)
    delays.push(
      record.scheduleRetry(
        () => {},
        () => 1
      )
    )
    record.cancelRetry()
  }
  t.ok(delays.every(delay => delay >= 1_000 && delay <= 300_000))
  t.end()
})
