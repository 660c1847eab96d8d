import type { AgentEventKind, InterruptionSignals } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { AttentionLedger, type AttentionSettings } from '#policy'

const HOUR = 3_600_000
const MINUTE = 60_000
const settings: AttentionSettings = {
  attention_enabled: true,
  attention_budget_ms: 100_000,
  attention_alert_threshold: 0.7,
  attention_interrupt_cost_ms: 23_250,
  interruption_calibration: {
    task_submit_gain: 0,
    inline_assist_gain: 0,
    a2a_gain: 0,
    plan_gain: 0,
    backlog_penalty: 0.05,
    trust_adjustment_scale: 1
  }
}

function scene(over: Partial<AttentionSettings> = {}) {
  const emitted: AgentEventKind[] = []
  const clock = { now: 1_000_000 }
  const attention = new AttentionLedger(
    () => ({ ...settings, ...over }),
    () => clock.now,
    event => emitted.push(event)
  )
  return { attention, clock, emitted }
}
const question: InterruptionSignals = { channel: 'a2a', surface: 'svc_a2a_send', gain_bits: 0.3, user_cost: 0.3 }

t.test('a decision is recorded without a cost', async t => {
  const { attention } = scene()
  const decision = attention.decide(question)
  t.match(decision, { decision: 'InterruptNow', rule: 9, channel: 'a2a', timestamp_ms: 1_000_000 })
  t.notOk('max_turns' in decision.signals, 'infinite values are left out, since JSON cannot represent them')
  attention.decide({ ...question, gain_bits: 0, user_cost: 1 })
  attention.decide({ ...question, turn: 1, max_turns: 1 })
  t.match(
    attention.events().map(event => event.kind),
    ['Interrupted', 'PolicyDeferred', 'PolicyProceedAuto']
  )
  t.match(attention.state(), { spent_ms: 0, total_requests: 3, inbox_suppressed_count: 2, interrupt_freq_per_hour: 0 })
})

t.test('reports the alert threshold and the end of the budget once each', async t => {
  const { attention, emitted } = scene()
  attention.debit(70_000, 'Interrupted')
  t.equal(attention.state().signal, 'Normal', 'the signal is Normal exactly at the threshold')
  attention.debit(1, 'Interrupted')
  t.equal(attention.state().signal, 'AttentionHigh')
  attention.debit(29_999, 'Interrupted')
  t.match(attention.state(), { signal: 'AttentionCritical', ratio: 1, fatigued: true })
  attention.debit(1, 'Interrupted')
  t.match(emitted, [
    { type: 'attention_budget_alert', threshold: 0.7, spent_ms: 70_001, max_ms: 100_000 },
    { type: 'attention_budget_alert', threshold: 1 }
  ])
  t.equal(emitted.length, 2)
  attention.reset(200_000, 'a new day')
  t.match(emitted.at(-1), { type: 'attention_budget_reset', new_max_ms: 200_000, reason: 'a new day' })
  t.match(attention.state(), { spent_ms: 0, max_attention_ms: 200_000, signal: 'Normal' })
  attention.reset(null, 'again')
  t.equal(attention.state().max_attention_ms, 200_000, 'null leaves the budget unchanged')
})

t.test('computes the frequency of interruptions from their gaps', async t => {
  const { attention, clock } = scene({ attention_budget_ms: HOUR })
  attention.debit(1, 'Interrupted')
  t.equal(attention.state().interrupt_freq_per_hour, 0, 'a single interruption has no gap')
  clock.now += HOUR / 2
  attention.debit(1, 'Interrupted')
  t.equal(attention.state().interrupt_freq_per_hour, 0.4, '0.2 * 2')
  clock.now += HOUR
  attention.debit(1, 'ClarificationAnswered', { frequency: false })
  attention.debit(1, 'AutoApproved')
  t.equal(attention.state().interrupt_freq_per_hour, 0.4, 'other events do not change the frequency')
  for (let i = 0; i < 3; i++) {
    clock.now += 1
    attention.debit(1, 'Interrupted')
  }
  t.match(attention.state(), { focus_depth: 'Deep' })
  t.ok(attention.state().interrupt_freq_per_hour < 60, 'the frequency is at most one per minute')
})

t.test('switches and long sessions cause fatigue, which ends after idle time', async t => {
  const { attention, clock } = scene({ attention_budget_ms: HOUR })
  for (let i = 0; i < 25; i++) attention.debit(0, 'Interrupted')
  t.notOk(attention.state().fatigued)
  attention.debit(0, 'Interrupted')
  t.ok(attention.state().fatigued)
  clock.now += 5 * MINUTE + 1
  t.notOk(attention.state().fatigued)
  for (let i = 0; i < 13; i++) {
    clock.now += 20 * MINUTE
    attention.debit(0, 'Interrupted')
  }
  t.ok(attention.state().fatigued, 'a session of more than four hours causes fatigue')
  clock.now += 31 * MINUTE
  t.notOk(attention.state().fatigued)
})

t.test('the costs of events add up to the spending, and a restored ledger is equal', async () => {
  const kind = fc.constantFrom('Interrupted', 'AutoApproved', 'Rejected', 'ClarificationAsked', 'InboxSuppressed')
  const step = fc.record({
    kind,
    cost: fc.oneof(fc.nat(50_000), fc.constantFrom(-5, Number.NaN, Infinity)),
    wait: fc.nat(HOUR)
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), steps => {
      const { attention, clock } = scene()
      for (const each of steps) {
        clock.now += each.wait
        attention.debit(each.cost, each.kind as 'Interrupted')
      }
      const sum = attention.events().reduce((total, event) => total + event.cost_ms, 0)
      const other = scene()
      other.clock.now = clock.now
      other.attention.restore('global', attention.serialise('global') ?? '')
      const [before, after] = [attention.state(), other.attention.state()]
      return sum === before.spent_ms && JSON.stringify(before) === JSON.stringify(after)
    }),
    { numRuns: 50 }
  )
})

t.test('stores the last 100 events, and returns the requested number', async t => {
  const { attention } = scene()
  for (let i = 0; i < 150; i++) attention.debit(i, 'AutoApproved')
  t.equal(attention.events().length, 100)
  t.match(attention.events(2), [{ cost_ms: 148 }, { cost_ms: 149 }])
  t.strictSame(attention.events(0), [])
  t.equal(attention.serialise('other'), null)
})
