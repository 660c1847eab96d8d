import { service } from '@svc/plugin-sdk'

/** Questions to the person behind a session, asked where they are worth their price. */
export const questioning = service<Questioning>('questioning@1')

export interface Questioning {
  /** Whether a question of the session waits for an answer. False without a database. */
  hasPending(session: string): Promise<boolean>
  /**
   * Holds a question against the policy of questioning and that of interruptions; where both say so it is kept, so that it waits
   * for its answer.
   */
  consider(question: QuestionCandidate): Promise<QuestionOutcome>
  /** Milliseconds of a person's or a model's time that went into clarifying; charged to the session, and to all of them. */
  debit(session: string, milliseconds: number): Promise<void>
}

export interface QuestionCandidate {
  readonly session_id: string
  /** Tool or surface, the first part of the question's id. */
  readonly surface: string
  readonly kind: 'multiple_choice' | 'open_ended' | 'entry' | 'assumption_confirm'
  readonly prompt: string
  /** 2 to 5 for multiple choice; the last may be `other`. */
  readonly options?: readonly {
    readonly id: string
    readonly label: string
    readonly prior?: number
    readonly other?: boolean
  }[]
  readonly expected_information_gain_bits: number
  /** (0, 1]. */
  readonly expected_user_cost: number
  /** How sure one is without asking, [0, 1]. */
  readonly confidence: number
  readonly contradiction_ratio?: number
  readonly high_risk?: boolean
  readonly channel: 'task_submit' | 'inline_assist' | 'a2a' | 'plan'
}

export interface QuestionOutcome {
  readonly asked: boolean
  readonly question_id: string | null
  /** gain / cost. */
  readonly utility_bits_per_cost: number
  readonly stop_reason:
    | 'confidence_sufficient'
    | 'risk_gate_blocked'
    | 'max_clarification_turns'
    | 'marginal_gain_too_low'
    | 'user_cost_too_high'
    | 'attention_budget_exceeded'
    | 'policy_deferred'
    | 'no_database'
    | null
}
