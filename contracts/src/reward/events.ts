import { hook } from '@svc/plugin-sdk'

/**
 * Notifies the reward component of an event. The trigger does not wait for the taps; an error of a tap is reported and
 * the tap skipped. Taps select events with `filter: { type: … }`.
 */
export const rewardEvents = hook<[event: RewardEvent]>('reward.event', 'series', {
  onError: 'skip',
  summary:
    'When an open file loses its last finding in the language server, and when a doubt about a task was resolved.',
  payload: { type: 'diagnostics_clean' }
})

/** Event as JSON; at most 262,144 bytes. */
export interface RewardEvent {
  /** `diagnostics_clean`, `task_resolved`. */
  readonly type: string
  readonly [more: string]: unknown
}

/** Event for a file whose last finding was resolved. */
export interface DiagnosticsCleanEvent extends RewardEvent {
  readonly type: 'diagnostics_clean'
  /** URI of the file. */
  readonly file: string
}

/** Event for a doubt that was resolved, with the audit report. */
export interface TaskResolvedEvent extends RewardEvent {
  readonly type: 'task_resolved'
  readonly task_id: number
  readonly agent_id: number
  /** True: the doubt was right, and the task continues. False: it was wrong, and the task is complete. */
  readonly validated: boolean
  /** Audit report, at most 60,000 characters. */
  readonly report: string
  /** Events with the same id count once. */
  readonly ludus_dedupe_id: string
}
