import type { QuestionCandidate, QuestionOutcome } from '@svc/contracts'
import { questioningErrors } from './errors.ts'

/** Questioning policy. Its version is stored with each clarification session. */
export const POLICY = {
  version: 'v1',
  /** Maximum questions of one clarification session. */
  maxTurns: 3,
  minGainBits: 0.08,
  maxUserCost: 0.8,
  /** Confidence from which no question is needed. */
  targetConfidence: 0.72,
  maxAttentionMs: 3_600_000,
  /** Share of contradictory evidence above which an answer cannot help; the quality gate uses the same limit. */
  maxContradictionRatio: 0.4
} as const

export type PolicyStop = Exclude<NonNullable<QuestionOutcome['stop_reason']>, 'policy_deferred' | 'no_database'>

/** State of a session that the policy considers. */
export interface SessionState {
  /** Questions that the open clarification session has asked so far. */
  readonly turn: number
  /** Milliseconds spent on clarification in the session, and the limit for them. */
  readonly spentMs: number
  readonly maxMs: number
}

/** Returns the expected bits for each unit of cost, by which candidates are compared. */
export function utility({ expected_information_gain_bits: gain, expected_user_cost: cost }: QuestionCandidate): number {
  return gain / cost
}

/**
 * Returns the first reason not to ask a question, in the order of the checks; null if it may be asked. The risk gate
 * does not stop questions of high risk, because the user must decide them.
 */
export function stopReason(question: QuestionCandidate, { turn, spentMs, maxMs }: SessionState): PolicyStop | null {
  if (question.confidence >= POLICY.targetConfidence) return 'confidence_sufficient'
  if (question.high_risk !== true && (question.contradiction_ratio ?? 0) > POLICY.maxContradictionRatio)
    return 'risk_gate_blocked'
  if (turn >= POLICY.maxTurns) return 'max_clarification_turns'
  if (question.expected_information_gain_bits < POLICY.minGainBits) return 'marginal_gain_too_low'
  if (question.expected_user_cost > POLICY.maxUserCost) return 'user_cost_too_high'
  if (spentMs >= maxMs) return 'attention_budget_exceeded'
  return null
}

/** Throws `QST_QUESTION_INVALID` if the prompt is empty, a number is out of range or the options are invalid. */
export function assertValid(question: QuestionCandidate): void {
  const { surface, prompt, kind, options = [] } = question
  const reject = (problem: string): never => {
    throw questioningErrors.create('QST_QUESTION_INVALID', `question of ${surface}: ${problem}`, {
      data: { session_id: question.session_id, prompt },
      hint: 'change the question, or ask it as open_ended'
    })
  }
  if (prompt.trim() === '') reject('the prompt is empty')
  if (!(question.expected_information_gain_bits >= 0)) reject('expected_information_gain_bits is not 0 or more')
  if (!(question.expected_user_cost > 0 && question.expected_user_cost <= 1))
    reject('expected_user_cost is not in (0, 1]')
  if (!(question.confidence >= 0 && question.confidence <= 1)) reject('confidence is not in [0, 1]')
  if (kind === 'multiple_choice' && (options.length < 2 || options.length > 5))
    reject(`a multiple_choice question has ${options.length} options; it must have 2 to 5`)
  if (new Set(options.map(({ id }) => id)).size < options.length) reject('two options have the same id')
  if (options.slice(0, -1).some(({ other }) => other === true)) reject('only the last option may be "other"')
}
