/**
 * Budget of the user's attention, and the policy for interruptions. Questions, submitted tasks, messages between agents
 * and plans share it.
 */
export interface Attention {
  readonly enabled: boolean
  state(): AttentionState
  /** Returns the first match of the policy's nine rules, in order, and records it as an attention event. */
  decide(signals: InterruptionSignals): InterruptionDecision
  /**
   * Charges milliseconds to the budget. With `frequency: false`, the interruption rate and the time of the last
   * interruption stay unchanged; the charge still counts towards fatigue.
   */
  debit(milliseconds: number, why: AttentionEventKind, options?: { readonly frequency?: boolean }): void
  /** Returns recorded events, newest last; at most 100 are kept. */
  events(limit?: number): readonly AttentionEvent[]
  reset(maxMs: number | null, reason: string): Promise<void>
}

export type InterruptionChannel = 'task_submit' | 'inline_assist' | 'a2a' | 'plan'

/** Inputs of the policy's formulas, in bits and ratios. */
export interface InterruptionSignals {
  readonly channel: InterruptionChannel
  /** Name of the tool or operation, for the record. */
  readonly surface: string
  readonly gain_bits: number
  readonly user_cost: number
  /** [0, 1]; default 0.5. */
  readonly trust?: number
  readonly confidence?: number
  readonly contradiction_ratio?: number
  readonly high_risk?: boolean
  readonly open_session?: boolean
  /** Number of clarifications that wait for an answer. */
  readonly backlog?: number
  readonly turn?: number
  readonly max_turns?: number
}

export type InterruptionOutcome =
  | 'InterruptNow'
  | 'RequireHuman'
  | 'ProceedAutonomously'
  | 'BatchWithExisting'
  | 'DeferUntilCheckpoint'

export interface InterruptionDecision {
  readonly surface: string
  readonly channel: InterruptionChannel
  readonly decision: InterruptionOutcome
  /** Number of the rule that matched, 1 to 9. */
  readonly rule: number
  readonly reason: string
  readonly scaled_cost_ms: number
  /** The signals after calibration. */
  readonly signals: Readonly<Record<string, number | boolean>>
  readonly timestamp_ms: number
}

export type FocusDepth = 'Ambient' | 'Focused' | 'Deep'

export interface AttentionState {
  readonly max_attention_ms: number
  readonly spent_ms: number
  /** spent / max. */
  readonly ratio: number
  readonly total_requests: number
  readonly auto_approved: number
  readonly rejected: number
  readonly interrupt_freq_per_hour: number
  readonly last_interrupt_ms: number | null
  readonly inbox_suppressed_count: number
  readonly focus_depth: FocusDepth
  readonly fatigued: boolean
  readonly signal: 'Normal' | 'AttentionHigh' | 'AttentionCritical'
}

export type AttentionEventKind =
  | 'Interrupted'
  | 'AutoApproved'
  | 'Rejected'
  | 'PolicyDeferred'
  | 'PolicyProceedAuto'
  | 'ClarificationAsked'
  | 'ClarificationAnswered'
  | 'InboxSuppressed'

export interface AttentionEvent {
  readonly kind: AttentionEventKind
  readonly cost_ms: number
  readonly channel: InterruptionChannel | null
  readonly detail: string
  readonly timestamp_ms: number
}
