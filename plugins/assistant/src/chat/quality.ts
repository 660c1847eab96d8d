import {
  evaluateQgate,
  type QgateContext,
  type QgatePolicy,
  type Questioning,
  type QuestionOutcome
} from '@svc/contracts'
import type { Retrieved } from './retrieved.ts'

export interface ChatQuality {
  readonly risk_decision: 'Answer' | 'Ask' | 'Abstain'
  readonly confidence_estimate: number
  readonly contradiction_ratio: number
  readonly citation_coverage: number
  readonly questioning: {
    readonly question_needed: boolean
    readonly question_kind: string | null
    readonly prompt: string | null
    readonly expected_information_gain_bits: number
    readonly expected_user_cost: number
    readonly utility_bits_per_cost: number
    readonly stop_reason: string | null
  }
  /** Advice for a better search if there was too little evidence. */
  readonly search_refinement: { readonly missing_terms: string[]; readonly suggestion: string } | null
}

/** Cost of a question to the user, on the scale of the questioning policy. */
const QUESTION_COST = 0.35
const NAMED_TERMS = 5

/**
 * Evaluates an answer with the quality gate. If the gate rejects the answer, the user is asked a question, provided the
 * policies consider it worth its cost. The gain of the question in bits is 0.08 plus half of the missing confidence; an
 * answer with invented citations has confidence 0.
 */
export async function chatQuality(
  evidence: QgateContext,
  retrieved: Retrieved,
  policy: QgatePolicy,
  session: string,
  service: Questioning | undefined
): Promise<ChatQuality> {
  const { decision, confidence, contradiction_ratio } = evaluateQgate(evidence, policy)
  const needs = decision !== 'Answer'
  const prompt = needs ? clarification(evidence, retrieved) : null
  // An answer that cites files that do not exist did not use its evidence, so the evidence does not count.
  const adjusted = evidence.fabricated_receipts === true ? 0 : confidence
  const gain = needs ? 0.08 + 0.5 * (1 - adjusted) : 0
  let outcome: QuestionOutcome | null = null
  if (prompt !== null && service !== undefined) {
    outcome = await service.consider({
      session_id: session,
      surface: 'svc_chat_message',
      kind: 'open_ended',
      prompt,
      expected_information_gain_bits: gain,
      expected_user_cost: QUESTION_COST,
      confidence: adjusted,
      contradiction_ratio,
      channel: 'inline_assist'
    })
  }
  return {
    risk_decision: decision,
    confidence_estimate: confidence,
    contradiction_ratio,
    citation_coverage: evidence.citation_coverage ?? 0,
    questioning: {
      question_needed: outcome?.asked ?? false,
      question_kind: needs ? 'open_ended' : null,
      prompt,
      expected_information_gain_bits: gain,
      expected_user_cost: needs ? QUESTION_COST : 0,
      utility_bits_per_cost: outcome?.utility_bits_per_cost ?? gain / QUESTION_COST,
      stop_reason: needs ? (outcome?.stop_reason ?? null) : 'confidence_sufficient'
    },
    search_refinement: needs
      ? {
          missing_terms: retrieved.missing.slice(0, NAMED_TERMS),
          suggestion: 'name files in context_files, or use words that occur in the project'
        }
      : null
  }
}

function clarification({ fabricated_receipts }: QgateContext, { missing, found }: Retrieved): string {
  if (fabricated_receipts === true)
    return 'The answer cites files that do not exist in the project. Which files is your question about?'
  if (found.length === 0)
    return 'Nothing in the project was found that answers this. Which file or part of the project do you mean?'
  const words = missing.slice(0, NAMED_TERMS).join(', ')
  return words === ''
    ? 'The results may not match your question. Which file or part of the project do you mean?'
    : `Nothing was found for: ${words}. Which part of the project do you mean?`
}
