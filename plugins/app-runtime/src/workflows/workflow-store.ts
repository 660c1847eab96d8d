import type { JournalEntry } from './journal.ts'

export type RunStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'

export const ENDED: readonly RunStatus[] = ['completed', 'failed', 'cancelled']

/** Texts of values come from `losslessText`; times are milliseconds since 1970. */
export interface RunRecord {
  readonly runId: string
  readonly workflow: string
  readonly status: RunStatus
  /** Arguments, as a list. */
  readonly args: string
  /** null until it is completed. */
  readonly result: string | null
  /** `CODE: message` of its failure. */
  readonly error: string | null
  /** Time at which it resumes. */
  readonly wakeAt: number | null
  /** The signal that it waits for. */
  readonly waitingFor: string | null
  /** The parent run, which resumes with it. */
  readonly parent: string | null
}

export interface NewRun extends Pick<RunRecord, 'runId' | 'workflow' | 'args' | 'parent'> {
  readonly plannedSteps: number
}

export interface ClaimedRun extends RunRecord {
  /** True if an earlier runner did not finish it. */
  readonly wasInterrupted: boolean
}

/** History of a run. */
export interface RunHistory {
  /** True if its journal has entries. */
  readonly hasBegun: boolean
  /** By the id of the step. */
  readonly completed: Map<string, StepRecord>
  /** Due times of started timers and attempts. */
  readonly scheduled: ReadonlyMap<string, number>
  readonly attempts: ReadonlyMap<string, AttemptRecord>
}

export interface StepRecord {
  readonly activity: string
  /** Its event. */
  readonly event: string
  /** Text of a value; null if only the event counts. */
  readonly result: string
}

/** The last attempt at an activity. */
export interface AttemptRecord {
  readonly attempt: number
  readonly status: 'started' | 'failed'
}

/** Entries of one write. */
export interface RunChange {
  readonly entries?: readonly JournalEntry[]
  readonly completed?: StepRecord & { readonly activityId: string }
  readonly scheduled?: { readonly activityId: string; readonly activity: string; readonly at: number }
  readonly attempt?: AttemptRecord & { readonly activityId: string; readonly error: string | null }
  /** The consumed signal. */
  readonly signal?: number
  /** Ends the owner's turn. */
  readonly turn?:
    | { readonly status: 'completed'; readonly result: string }
    | { readonly status: 'failed'; readonly error: string }
    | { readonly status: 'waiting'; readonly wakeAt: number | null; readonly waitingFor: string | null }
    | { readonly status: 'pending' }
}

export interface SignalRecord {
  readonly id: number
  /** Text of a value; null without one. */
  readonly payload: string | null
}

/**
 * Stores workflow runs. A run has one owner at a time: `claim` assigns it until `leaseUntil`. After another process
 * has claimed it, or it was cancelled, later writes of the owner fail with `RUN_WORKFLOW_LOST`.
 */
export interface WorkflowStore {
  /** True if a transaction is open, so that nothing is stored before it ends. */
  readonly inTransaction: boolean
  /** Creates a pending run. Returns false, without a change, if the id exists. */
  create(run: NewRun, now: number): boolean
  find(runId: string): RunRecord | null
  /** null if it does not exist, has ended, or belongs to another process; `again` also claims a failed one. */
  claim(runId: string, lease: Lease, again?: boolean): ClaimedRun | null
  history(runId: string): RunHistory
  record(runId: string, owner: string, change: RunChange, now: number): void
  /** The oldest unconsumed signal of that key. */
  signal(runId: string, key: string): SignalRecord | null
  /** Runs that can continue, without child runs. */
  due(now: number): readonly string[]
  /** Time at which the next run resumes. */
  nextWake(): number | null
}

export interface Lease {
  readonly owner: string
  readonly now: number
  readonly until: number
}
