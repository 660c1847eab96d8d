import fc from 'fast-check'
import t from 'tap'
import { assertSound, POLICY, stopReason, utility } from '#root'
import { candidate, choice } from './candidate.ts'

const fresh = { turn: 0, spentMs: 0, maxMs: POLICY.maxAttentionMs }

t.test('stopReason returns the first reason that applies', async t => {
  let question = candidate({
    confidence: 0.72,
    contradiction_ratio: 0.41,
    expected_information_gain_bits: 0.079,
    expected_user_cost: 0.81
  })
  let standing = { turn: 3, spentMs: 10, maxMs: 10 }
  const reasons: (string | null)[] = [stopReason(question, standing)]
  const next = (change: Partial<typeof question>, of: Partial<typeof standing> = {}): void => {
    question = { ...question, ...change }
    standing = { ...standing, ...of }
    reasons.push(stopReason(question, standing))
  }
  next({ confidence: 0.71 })
  next({ contradiction_ratio: 0.4 })
  next({}, { turn: 2 })
  next({ expected_information_gain_bits: 0.08 })
  next({ expected_user_cost: 0.8 })
  next({}, { spentMs: 9 })
  t.same(reasons, [
    'confidence_sufficient',
    'risk_gate_blocked',
    'max_clarification_turns',
    'marginal_gain_too_low',
    'user_cost_too_high',
    'attention_budget_exceeded',
    null
  ])
})

t.test('a question of high risk is asked despite contradictory evidence', async t => {
  const question = candidate({ contradiction_ratio: 0.9 })
  t.equal(stopReason(question, fresh), 'risk_gate_blocked')
  t.equal(stopReason({ ...question, high_risk: true }, fresh), null)
})

t.test('an allowed question stays allowed with more gain, less cost, or less spent time', async () => {
  const unit = fc.double({ min: 0.001, max: 1, noNaN: true })
  fc.assert(
    fc.property(unit, unit, unit, fc.nat(4), unit, (gain, cost, confidence, turn, share) => {
      const question = candidate({
        expected_information_gain_bits: gain,
        expected_user_cost: cost,
        confidence
      })
      const standing = { turn, spentMs: share * 200, maxMs: 100 }
      if (stopReason(question, standing) !== null) return true
      const better = candidate({
        expected_information_gain_bits: gain * 2,
        expected_user_cost: cost / 2,
        confidence: confidence / 2
      })
      return stopReason(better, { turn: 0, spentMs: 0, maxMs: 100 }) === null && utility(better) > utility(question)
    })
  )
})

t.test('utility is the gain in bits for each unit of cost', async t => {
  t.equal(utility(candidate({ expected_information_gain_bits: 0.5, expected_user_cost: 0.25 })), 2)
})

t.test('assertSound throws QST_QUESTION_INVALID and names the problem', async t => {
  const rejects = (change: Parameters<typeof candidate>[0], words: RegExp): void => {
    t.throws(() => assertSound(choice(change)), { code: 'QST_QUESTION_INVALID', message: words })
  }
  const option = (id: string, other = false) => ({ id, label: id, other })
  t.doesNotThrow(() => assertSound(choice()))
  rejects({ prompt: ' ' }, /prompt/)
  rejects({ expected_information_gain_bits: Number.NaN }, /gain/)
  rejects({ expected_user_cost: 0 }, /cost/)
  rejects({ expected_user_cost: 1.1 }, /cost/)
  rejects({ confidence: 2 }, /confidence/)
  rejects({ options: [option('a')] }, /2 to 5/)
  rejects({ options: ['a', 'b', 'c', 'd', 'e', 'f'].map(id => option(id)) }, /2 to 5/)
  rejects({ options: [option('a'), option('a')] }, /same id/)
  rejects({ options: [option('a', true), option('b')] }, /last/)
})
