import type { MeshActivityOutcome, MeshOperation } from '@svc/contracts'

/** History of workflow runs, as in `contracts/workflow/workflow-journal.v2.schema.json`. */
export type JournalEntry = { readonly journal_version: 1 | 2 } & (
  | { readonly event: 'WorkflowStarted'; readonly workflow: string; readonly steps: number }
  | {
      readonly event: 'WorkflowContinued'
      readonly workflow: string
      /** Number of the generation that begins. */
      readonly generation: number
      /** Steps of the generation that ends. */
      readonly steps: number
    }
  | {
      readonly event: 'WorkflowReset'
      readonly workflow: string
      /** Recorded steps that run again. */
      readonly steps: number
    }
  | (Step & {
      readonly event: 'ActivityTask'
      readonly execution_boundary: 'local' | 'mesh'
      readonly max_attempts: number
      readonly timeout_ms: number | null
      readonly idempotency_key: string
    })
  | (Step & { readonly event: 'ActivityStarted' })
  | (Step & {
      readonly event: 'ActivityAttemptFailed'
      readonly attempt: number
      readonly max_attempts: number
      readonly error: string
    })
  | (Step & {
      readonly event: 'ActivityRetryScheduled'
      readonly attempt: number
      readonly next_attempt: number
      readonly delay_ms: number
    })
  | (Step & {
      readonly event: 'ActivityAttemptRecovered'
      readonly resume_attempt: number
      readonly max_attempts_window: number
    })
  | {
      readonly event: 'LocalActivity'
      readonly activity: string
      readonly activity_id: string
      readonly status: 'executed'
      readonly classification: Classification
    }
  | (Step & { readonly event: 'BranchDecision'; readonly branch: string; readonly decision_source: string })
  | (Step & { readonly event: 'TimerWaitCompleted'; readonly waited_ms: number })
  | (Step & { readonly event: 'SignalWaitSatisfied'; readonly signal_key: string })
  | (Step & Omit<MeshActivityOutcome, 'output'> & { readonly event: 'MeshActivity'; readonly mesh_op: MeshOperation })
  | (Step & { readonly event: 'MeshActivitySkipped'; readonly reason: string })
  | (Step & {
      readonly event: 'ActivityReplayed'
      readonly replay_source: 'workflow_activity_log'
      readonly result_event: string
    })
  | (Step & { readonly event: 'ActivityCompleted'; readonly replayed?: true })
  | { readonly event: 'WorkflowCompleted'; readonly workflow: string }
)

export const CLASSIFICATIONS = ['local', 'planning', 'verification', 'reconstruction'] as const

export type Classification = (typeof CLASSIFICATIONS)[number]

interface Step {
  readonly workflow: string
  readonly activity: string
  readonly activity_id: string
}

/** Fields of a journal entry without its version. */
export type Content<E> = E extends unknown ? Omit<E, 'journal_version'> : never

/** Events that version 1 of the journal lacks. */
const OF_VERSION_2: ReadonlySet<string> = new Set(['WorkflowContinued', 'WorkflowReset'])

/** Returns a journal entry as JSON, with the event first. */
export function entry({ event, ...rest }: Content<JournalEntry>): string {
  return JSON.stringify({ event, journal_version: OF_VERSION_2.has(event) ? 2 : 1, ...rest })
}
