import type { FailureClass, GateCode } from '@svc/contracts'

/** Reasons of a decision about one channel, in addition to the codes of the gate. */
export const DECISION_REASONS = [
  'not_requested',
  'excluded_by_item',
  'options_missing',
  'draft',
  'not_yet_due',
  'policy_disabled',
  'topic_filtered_out',
  'topic_excluded',
  'topic_score_below_min',
  'worthiness_below_floor',
  'worthiness_unavailable',
  'template_profile_inert',
  'service_disabled',
  'already_sent',
  'already_published',
  'already_tried',
  'channel_problem'
] as const
export type DecisionReason = (typeof DECISION_REASONS)[number] | GateCode

export type ChannelOutcome =
  | { readonly outcome: 'Disabled' }
  | { readonly outcome: 'DryRun' }
  | { readonly outcome: 'Success'; readonly external_id: string; readonly url?: string }
  | {
      readonly outcome: 'Failed'
      readonly code: string
      readonly message: string
      readonly retryable: boolean
      readonly failure_class: FailureClass
      /** Unix milliseconds of the next attempt, if one is planned. */
      readonly retry_at_ms?: number
    }

/** Outcome of one channel, with the reasons for it. */
export type ChannelResult = ChannelOutcome & {
  readonly channel: string
  readonly decision_reasons: readonly DecisionReason[]
}
