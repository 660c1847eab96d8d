import { hook } from '@svc/plugin-sdk'

/**
 * Notifies the reward component of an event. The trigger does not wait for the taps, and a tap that throws is reported
 * and skipped. Taps choose by `filter: { type: … }`.
 */
export const rewardEvents = hook<[event: RewardEvent]>('reward.event', 'series', {
  onError: 'skip',
  summary: 'When an open file loses its last finding in the language server.',
  payload: { type: 'diagnostics_clean' }
})

/** One thing that happened, as JSON; at most 262,144 bytes. */
export interface RewardEvent {
  /** `diagnostics_clean`. */
  readonly type: string
  readonly [more: string]: unknown
}

/** Sent when the last finding of a file is resolved. */
export interface DiagnosticsCleanEvent extends RewardEvent {
  readonly type: 'diagnostics_clean'
  /** URI of the file. */
  readonly file: string
}
