import type { InterruptionSignals } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import {
  calibrate,
  deferThreshold,
  type InterruptionScene,
  judgeInterruption,
  scaledCostMs,
  submitSignals
} from '#policy'

const calibration = {
  task_submit_gain: 0,
  inline_assist_gain: 0,
  a2a_gain: 0,
  plan_gain: 0,
  backlog_penalty: 0,
  trust_adjustment_scale: 1
}
const calm: InterruptionScene = { enabled: true, ratio: 0, alert: 0.7, focus: 'Ambient', baseCostMs: 1000 }
const question: InterruptionSignals = { channel: 'task_submit', surface: 'test', gain_bits: 0.3, user_cost: 0.3 }
const judge = (signals: Partial<InterruptionSignals>, scene: Partial<InterruptionScene> = {}) => {
  const { rule, decision } = judgeInterruption(calibration, { ...calm, ...scene }, { ...question, ...signals })
  return [rule, decision]
}

t.test('rule 1: every question may interrupt if attention is disabled', async t => {
  t.strictSame(judge({ high_risk: true, confidence: 0 }, { enabled: false }), [1, 'InterruptNow'])
})

t.test('rule 2: a high risk with weak or contradictory evidence requires a human', async t => {
  t.strictSame(judge({ high_risk: true, confidence: 0.41 }), [2, 'RequireHuman'])
  t.strictSame(judge({ high_risk: true, contradiction_ratio: 0.39 }), [2, 'RequireHuman'])
  t.strictSame(judge({ high_risk: true, confidence: 0.42, contradiction_ratio: 0.38 }), [9, 'InterruptNow'])
})

t.test('rule 3: the agent proceeds autonomously after the last turn', async t => {
  t.strictSame(judge({ turn: 3, max_turns: 3 }), [3, 'ProceedAutonomously'])
  t.strictSame(judge({ turn: 2, max_turns: 3 }), [9, 'InterruptNow'])
})

t.test('rule 4: the agent proceeds autonomously if the budget is spent and the gain is small', async t => {
  t.strictSame(judge({ gain_bits: 0.36 }, { ratio: 1 }), [4, 'ProceedAutonomously'])
  t.not(judge({ gain_bits: 0.37 }, { ratio: 1 })[0], 4)
  t.strictSame(judge({ gain_bits: 0.42 }, { ratio: 1, focus: 'Deep' }), [4, 'ProceedAutonomously'])
})

t.test('rule 5: a high risk requires a human if the budget is spent', async t => {
  t.strictSame(judge({ high_risk: true }, { ratio: 1 }), [5, 'RequireHuman'])
})

t.test('rule 6: a question with a small gain joins an open session', async t => {
  t.strictSame(judge({ open_session: true, gain_bits: 0.149 }), [6, 'BatchWithExisting'])
  t.not(judge({ open_session: true, gain_bits: 0.151 })[0], 6)
  t.strictSame(judge({ open_session: true, gain_bits: 0.159, channel: 'plan' }), [6, 'BatchWithExisting'])
})

t.test('rule 7: a question with a small gain is deferred while others are pending', async t => {
  t.strictSame(judge({ backlog: 1, gain_bits: 0.109 }), [7, 'DeferUntilCheckpoint'])
  t.not(judge({ backlog: 1, gain_bits: 0.11 })[0], 7)
})

t.test('rule 8: a question with too little gain for its cost is deferred', async t => {
  // 0.11 + 0.08 * 0.5 = 0.15
  t.strictSame(judge({ gain_bits: 0.149, user_cost: 1 }), [8, 'DeferUntilCheckpoint'])
  t.strictSame(judge({ gain_bits: 0.151, user_cost: 1 }), [9, 'InterruptNow'])
})

t.test('rule 9: every other question interrupts, even at zero cost', async t => {
  t.strictSame(judge({}), [9, 'InterruptNow'])
  t.strictSame(judge({ user_cost: 0 }), [9, 'InterruptNow'])
})

t.test('formulas', async t => {
  t.equal(deferThreshold({ ratio: 0, alert: 0.7 }, 1), 0.11)
  t.ok(Math.abs(deferThreshold({ ratio: 0.7, alert: 0.7 }, 1) - 0.23) < 1e-12)
  t.ok(Math.abs(deferThreshold({ ratio: 0.9, alert: 0.7 }, 0) - (0.11 + (0.12 * 0.9) / 0.7 + 0.07 + 0.08)) < 1e-12)
  const signals = calibrate(calibration, { ...question, backlog: 2, trust: 0.5, contradiction_ratio: 0.4 })
  t.ok(
    Math.abs(scaledCostMs({ focus: 'Deep', baseCostMs: 1000 }, signals) - 1000 * 0.3 * 1.44 * 0.875 * 1.35 * 1.14) <
      1e-9
  )
})

t.test('applies the calibration before the rules', async t => {
  const tuned = { ...calibration, a2a_gain: 0.2, backlog_penalty: 0.05, trust_adjustment_scale: 0.5 }
  t.match(calibrate(tuned, { ...question, channel: 'a2a', backlog: 2, trust: 0.8 }), { gain_bits: 0.4, trust: 0.4 })
  t.match(calibrate(tuned, { ...question, backlog: 100 }), { gain_bits: 0 }, 'the gain is at least zero')
})

t.test('computes the signals of a submitted task', async t => {
  const facts = { surface: 'svc_submit_task', description: 'Fix it', files: 0, priority: 'Normal' } as const
  t.match(submitSignals(facts), { gain_bits: 0.16, user_cost: 0.2, high_risk: false })
  t.match(submitSignals({ ...facts, priority: 'Urgent', files: 4, description: 'Delete it' }), {
    gain_bits: 0.26,
    user_cost: 1.4,
    high_risk: true
  })
  t.match(submitSignals({ ...facts, files: 100 }), { gain_bits: 0.35 })
})

t.test('always decides, and never interrupts more readily if more attention is spent', async () => {
  const ratio = fc.double({ min: 0, max: 1, noNaN: true })
  const signals = fc.record({
    channel: fc.constantFrom('plan', 'task_submit', 'a2a', 'inline_assist'),
    surface: fc.constant('test'),
    gain_bits: fc.double({ min: 0, max: 2, noNaN: true }),
    user_cost: fc.double({ min: 0, max: 3, noNaN: true }),
    trust: ratio,
    confidence: ratio,
    contradiction_ratio: ratio,
    high_risk: fc.boolean(),
    open_session: fc.boolean(),
    backlog: fc.nat(5),
    turn: fc.nat(4),
    max_turns: fc.constant(3)
  }) as fc.Arbitrary<InterruptionSignals>
  fc.assert(
    fc.property(signals, ratio, ratio, (each, one, other) => {
      const [less, more] = [Math.min(one, other), Math.max(one, other)]
      const calmly = judgeInterruption(calibration, { ...calm, ratio: less }, each)
      const spent = judgeInterruption(calibration, { ...calm, ratio: more }, each)
      if (calmly.rule < 1 || calmly.rule > 9 || !(calmly.scaled_cost_ms >= 0)) return false
      return spent.decision !== 'InterruptNow' || calmly.decision === 'InterruptNow'
    })
  )
})
