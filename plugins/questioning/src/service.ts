import type { Attention, QuestionCandidate, Questioning, QuestionOutcome } from '@svc/contracts'
import { assertSound, POLICY, stopReason, utility } from './policy.ts'
import type { SessionAttention } from './session-attention.ts'
import type { QuestionStore } from './store.ts'

export interface QuestioningParts {
  /** Null without a database: then nothing can be asked, for nobody could answer later. */
  readonly store: QuestionStore | null
  /** Null without an orchestrator: then the policy of questioning alone decides. */
  readonly attention: Attention | null
  readonly tally: SessionAttention
  readonly settings: { readonly max_attention_ms: number; readonly mirror_global_attention: boolean }
}

/** Asks what is worth its price, by the policy of questioning first and by that of interruptions then. */
export class QuestioningService implements Questioning {
  readonly #parts: QuestioningParts

  constructor(parts: QuestioningParts) {
    this.#parts = parts
  }

  async hasPending(session: string): Promise<boolean> {
    const open = await this.#parts.store?.open(session)
    return (open?.waiting ?? 0) > 0
  }

  async consider(question: QuestionCandidate): Promise<QuestionOutcome> {
    assertSound(question)
    const { store, tally, settings } = this.#parts
    const utility_bits_per_cost = utility(question)
    const refuse = (stop_reason: QuestionOutcome['stop_reason']): QuestionOutcome => ({
      asked: false,
      question_id: null,
      utility_bits_per_cost,
      stop_reason
    })
    if (store === null) return refuse('no_database')
    const open = await store.open(question.session_id)
    const turn = open?.turns ?? 0
    const standing = { turn, spentMs: tally.spent(question.session_id), maxMs: settings.max_attention_ms }
    const reason =
      stopReason(question, standing) ??
      (this.#mayInterrupt(question, turn, open?.waiting ?? 0, open !== null) ? null : 'policy_deferred')
    if (reason !== null) {
      if (open !== null) await store.stopped(question, reason)
      return refuse(reason)
    }
    const question_id = await store.ask(question)
    if (question_id === null) return refuse('max_clarification_turns')
    // The interruption itself is charged where it is decided.
    this.#parts.attention?.debit(0, 'ClarificationAsked', { frequency: false })
    return { asked: true, question_id, utility_bits_per_cost, stop_reason: null }
  }

  async debit(session: string, milliseconds: number): Promise<void> {
    // A clock that was set back is nobody's gain.
    if (!(milliseconds > 0) || !Number.isFinite(milliseconds)) return
    this.#parts.tally.debit(session, milliseconds)
    if (this.#parts.settings.mirror_global_attention)
      this.#parts.attention?.debit(milliseconds, 'ClarificationAsked', { frequency: false })
  }

  #mayInterrupt(question: QuestionCandidate, turn: number, backlog: number, openSession: boolean): boolean {
    const { attention } = this.#parts
    if (attention === null) return true
    const { contradiction_ratio, high_risk } = question
    const { decision } = attention.decide({
      channel: question.channel,
      surface: question.surface,
      gain_bits: question.expected_information_gain_bits,
      user_cost: question.expected_user_cost,
      confidence: question.confidence,
      ...(contradiction_ratio === undefined ? {} : { contradiction_ratio }),
      ...(high_risk === undefined ? {} : { high_risk }),
      open_session: openSession,
      backlog,
      turn,
      max_turns: POLICY.maxTurns
    })
    return decision === 'InterruptNow' || decision === 'RequireHuman'
  }
}
