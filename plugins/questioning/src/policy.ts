import type { QuestionCandidate, QuestionOutcome } from '@svc/contracts'
import { questioningErrors } from './errors.ts'

/** Policy for questions, version `v1`, which is stored with every session of questions. */
export const POLICY = {
  version: 'v1',
  /** Questions of one session of questions. */
  maxTurns: 3,
  minGainBits: 0.08,
  maxUserCost: 0.8,
  /** Confidence above which no question is needed. */
  targetConfidence: 0.72,
  maxAttentionMs: 3_600_000,
  /** Share of contradictory evidence above which an answer cannot help. Equal to that of the quality gate. */
  maxContradictionRatio: 0.4
} as const

export type PolicyStop = Exclude<NonNullable<QuestionOutcome['stop_reason']>, 'policy_deferred' | 'no_database'>

export interface Standing {
  /** Questions that the session of questions has asked so far. */
  readonly turn: number
  /** Milliseconds spent on clarification in the session, and their limit. */
  readonly spentMs: number
  readonly maxMs: number
}

/** Bits for each unit of cost, by which candidates are compared. */
export function utility({ expected_information_gain_bits: gain, expected_user_cost: cost }: QuestionCandidate): number {
  return gain / cost
}

/**
 * Why a question is not asked; null if it may be. The first that holds, in this order:
 * `confidence_sufficient`, `risk_gate_blocked`, `max_clarification_turns`, `marginal_gain_too_low`, `user_cost_too_high`,
 * `attention_budget_exceeded`. The risk gate lets questions of high risk pass: those need a person.
 */
export function stopReason(question: QuestionCandidate, { turn, spentMs, maxMs }: Standing): PolicyStop | null {
  if (question.confidence >= POLICY.targetConfidence) return 'confidence_sufficient'
  if (question.high_risk !== true && (question.contradiction_ratio ?? 0) > POLICY.maxContradictionRatio)
    return 'risk_gate_blocked'
  if (turn >= POLICY.maxTurns) return 'max_clarification_turns'
  if (question.expected_information_gain_bits < POLICY.minGainBits) return 'marginal_gain_too_low'
  if (question.expected_user_cost > POLICY.maxUserCost) return 'user_cost_too_high'
  if (spentMs >= maxMs) return 'attention_budget_exceeded'
  return null
}

/** Throws `QST_QUESTION_INVALID` for numbers out of range, and for options that do not match the kind. */
export function assertSound(question: QuestionCandidate): void {
  const { surface, prompt, kind, options = [] } = question
  const refuse = (what: string): never => {
    throw questioningErrors.create('QST_QUESTION_INVALID', `the question of ${surface}: ${what}`, {
      data: { session_id: question.session_id, prompt },
      hint: 'change the question, or ask it as open_ended'
    })
  }
  if (prompt.trim() === '') refuse('its prompt is empty')
  if (!(question.expected_information_gain_bits >= 0)) refuse('expected_information_gain_bits is not 0 or more')
  if (!(question.expected_user_cost > 0 && question.expected_user_cost <= 1))
    refuse('expected_user_cost is not in (0, 1]')
  if (!(question.confidence >= 0 && question.confidence <= 1)) refuse('confidence is not in [0, 1]')
  if (kind === 'multiple_choice' && (options.length < 2 || options.length > 5))
    refuse(`a multiple choice has 2 to 5 options, and this one has ${options.length}`)
  if (new Set(options.map(({ id }) => id)).size < options.length) refuse('two options have one id')
  if (options.slice(0, -1).some(({ other }) => other === true)) refuse('only the last option may be "other"')
}
