import { service } from '@svc/plugin-sdk'

/** Questions to the user of a session, asked if their value exceeds their cost. */
export const questioning = service<Questioning>('questioning@1')

export interface Questioning {
  /** Returns whether a question of the session is pending; false if no database is attached. */
  hasPending(session: string): Promise<boolean>
  /**
   * Checks a question against the questioning and interruption policies. If both allow it, the question is stored and
   * waits for an answer.
   */
  consider(question: QuestionCandidate): Promise<QuestionOutcome>
  /** Charges milliseconds of clarification time, of a user or a model, to the session and to the total. */
  debit(session: string, milliseconds: number): Promise<void>
}

export interface QuestionCandidate {
  readonly session_id: string
  /** Tool or surface, the first part of the question's id. */
  readonly surface: string
  readonly kind: 'multiple_choice' | 'open_ended' | 'entry' | 'assumption_confirm'
  readonly prompt: string
  /** 2 to 5 options for multiple choice; the last may be `other`. */
  readonly options?: readonly {
    readonly id: string
    readonly label: string
    readonly prior?: number
    readonly other?: boolean
  }[]
  readonly expected_information_gain_bits: number
  /** (0, 1]. */
  readonly expected_user_cost: number
  /** Confidence without asking, [0, 1]. */
  readonly confidence: number
  readonly contradiction_ratio?: number
  readonly high_risk?: boolean
  readonly channel: 'task_submit' | 'inline_assist' | 'a2a' | 'plan'
}

export interface QuestionOutcome {
  readonly asked: boolean
  readonly question_id: string | null
  /** Information gain divided by cost. */
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
