import { hook, service } from '@svc/plugin-sdk'

/** Triggered in the process that stored an answer. An error of a tap is reported and the tap skipped. */
export const questionAnswered = hook<[answer: QuestionAnswered]>('questioning.answered', 'series', {
  onError: 'skip',
  summary: 'When a question was answered.',
  payload: { session_id: 'doubt:7', question_id: 'resolution-agent:doubt:7:1', answer_text: 'It is wrong.' }
})

export interface QuestionAnswered {
  readonly session_id: string
  readonly question_id: string
  readonly answer_text: string
}

/**
 * Sessions of questions about doubted tasks begin with this prefix. The console's inbox omits them, because a doubted task
 * is an item by itself.
 */
export const DOUBT_SESSIONS = 'doubt:'

/** Questions to the user of a session, asked if their value exceeds their cost. */
export const questioning = service<Questioning>('questioning@1')

/** The questions that were asked, and their answers. Without a database there are none. */
export const clarifications = service<Clarifications>('clarifications@1')

export interface Clarifications {
  /** Returns the newest question of the open clarification session of a session; null if none is open. */
  latest(session: string): Promise<AskedQuestion | null>
  /** Returns the sessions with an open clarification session whose ids begin with a prefix, at most 1,000. */
  openSessions(prefix: string): Promise<readonly string[]>
  /** Ends the clarification session of a session. Its pending questions are withdrawn: no answer is needed any more. */
  end(session: string): Promise<void>
}

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

export interface AskedQuestion {
  readonly question_id: string
  readonly prompt: string
  readonly asked_at_ms: number
  /** Null while the question is pending. */
  readonly answer: {
    readonly text: string
    /** Null if the answer selected no option. */
    readonly option_id: string | null
    readonly at_ms: number
  } | null
}
