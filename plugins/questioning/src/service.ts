import type {
  AskedQuestion,
  Attention,
  Clarifications,
  InterruptionDecision,
  InterruptionOutcome,
  QuestionCandidate,
  Questioning,
  QuestionOutcome
} from '@svc/contracts'
import { assertValid, POLICY, stopReason, utility } from './policy.ts'
import type { SessionAttention } from './session-attention.ts'
import type { QuestionStore } from './store.ts'

export interface QuestioningParts {
  /** Null if no database is attached; then no question is asked, because it could not be stored. */
  readonly store: QuestionStore | null
  /** Null without an orchestrator; then only the questioning policy decides. */
  readonly attention: Attention | null
  readonly sessionAttention: SessionAttention
  /** Called after a question was stored or withdrawn. */
  readonly changed?: () => void
  readonly settings: { readonly max_attention_ms: number; readonly mirror_global_attention: boolean }
}

const INTERRUPTS: ReadonlySet<InterruptionOutcome> = new Set(['InterruptNow', 'RequireHuman'])

/** Asks a question if first the questioning policy and then the interruption policy allow it. */
export class QuestioningService implements Questioning, Clarifications {
  readonly #parts: QuestioningParts

  constructor(parts: QuestioningParts) {
    this.#parts = parts
  }

  async hasPending(session: string): Promise<boolean> {
    const open = await this.#parts.store?.open(session)
    return (open?.pending ?? 0) > 0
  }

  async consider(question: QuestionCandidate): Promise<QuestionOutcome> {
    assertValid(question)
    const { store, attention, sessionAttention, settings } = this.#parts
    const utility_bits_per_cost = utility(question)
    const decline = (stop_reason: QuestionOutcome['stop_reason']): QuestionOutcome => ({
      asked: false,
      question_id: null,
      utility_bits_per_cost,
      stop_reason
    })
    if (store === null) return decline('no_database')
    const open = await store.open(question.session_id)
    const turn = open?.turns ?? 0
    const state = { turn, spentMs: sessionAttention.spent(question.session_id), maxMs: settings.max_attention_ms }
    const stop = stopReason(question, state)
    const decision = stop === null ? this.#decide(question, turn, open?.pending ?? 0, open !== null) : null
    const reason = stop ?? (decision !== null && !INTERRUPTS.has(decision.decision) ? 'policy_deferred' : null)
    if (reason !== null) {
      if (open !== null) await store.stopped(question, reason)
      return decline(reason)
    }
    const question_id = await store.ask(question)
    if (question_id === null) return decline('max_clarification_turns')
    this.#parts.changed?.()
    // Only asked questions are charged, and only if the attention policy is enabled.
    const cost = attention?.enabled === true ? (decision?.scaled_cost_ms ?? 0) : 0
    attention?.debit(cost, 'ClarificationAsked')
    return { asked: true, question_id, utility_bits_per_cost, stop_reason: null }
  }

  async latest(session: string): Promise<AskedQuestion | null> {
    return (await this.#parts.store?.latest(session)) ?? null
  }

  async openSessions(prefix: string): Promise<readonly string[]> {
    return (await this.#parts.store?.openSessions(prefix)) ?? []
  }

  async end(session: string): Promise<void> {
    if (await this.#parts.store?.end(session)) this.#parts.changed?.()
  }

  async debit(session: string, milliseconds: number): Promise<void> {
    // A clock that was set back yields a negative duration, which must not be charged.
    if (!(milliseconds > 0) || !Number.isFinite(milliseconds)) return
    this.#parts.sessionAttention.debit(session, milliseconds)
    if (this.#parts.settings.mirror_global_attention)
      this.#parts.attention?.debit(milliseconds, 'ClarificationAsked', { frequency: false })
  }

  /** Asks the interruption policy; null without an orchestrator. */
  #decide(
    question: QuestionCandidate,
    turn: number,
    backlog: number,
    openSession: boolean
  ): InterruptionDecision | null {
    const { attention } = this.#parts
    if (attention === null) return null
    const { contradiction_ratio, high_risk } = question
    return attention.decide({
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
  }
}
