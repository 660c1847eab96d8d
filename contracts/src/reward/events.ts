import { hook } from '@svc/plugin-sdk'

/**
 * Notifies the reward component of an event. The trigger does not wait for the taps; an error of a tap is reported and
 * the tap skipped. Taps select events with `filter: { type: … }`.
 */
export const rewardEvents = hook<[event: RewardEvent]>('reward.event', 'series', {
  onError: 'skip',
  summary: 'When an open file loses its last finding in the language server.',
  payload: { type: 'diagnostics_clean' }
})

/** Event as JSON; at most 262,144 bytes. */
export interface RewardEvent {
  /** `diagnostics_clean`. */
  readonly type: string
  readonly [more: string]: unknown
}

/** Event for a file whose last finding was resolved. */
export interface DiagnosticsCleanEvent extends RewardEvent {
  readonly type: 'diagnostics_clean'
  /** URI of the file. */
  readonly file: string
}
