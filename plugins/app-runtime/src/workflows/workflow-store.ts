import type { JournalEntry } from './journal.ts'

export type RunStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'

export const ENDED: readonly RunStatus[] = ['completed', 'failed', 'cancelled']

/** Texts of values are those of `losslessText`; times are milliseconds since 1970. */
export interface RunRecord {
  readonly runId: string
  readonly workflow: string
  readonly status: RunStatus
  /** A list. */
  readonly args: string
  /** null until it has completed. */
  readonly result: string | null
  /** `CODE: message` of what ended it. */
  readonly error: string | null
  /** When it goes on by itself. */
  readonly wakeAt: number | null
  /** The signal that it waits for. */
  readonly waitingFor: string | null
  /** The run whose workflow called this one, and which goes on with it. */
  readonly parent: string | null
}

export interface NewRun extends Pick<RunRecord, 'runId' | 'workflow' | 'args' | 'parent'> {
  readonly plannedSteps: number
}

export interface ClaimedRun extends RunRecord {
  /** Whether an earlier runner did not finish it. */
  readonly wasInterrupted: boolean
}

/** History of a run. */
export interface RunHistory {
  /** Whether its journal has anything. */
  readonly hasBegun: boolean
  /** By the id of the step. */
  readonly completed: Map<string, StepRecord>
  /** When timers and attempts are due that were begun. */
  readonly scheduled: ReadonlyMap<string, number>
  readonly attempts: ReadonlyMap<string, AttemptRecord>
}

export interface StepRecord {
  readonly activity: string
  /** The event that was its own. */
  readonly event: string
  /** Of a value; null where only the event counts. */
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
  /** A signal that was taken. */
  readonly signal?: number
  /** Ends the turn of the owner. */
  readonly turn?:
    | { readonly status: 'completed'; readonly result: string }
    | { readonly status: 'failed'; readonly error: string }
    | { readonly status: 'waiting'; readonly wakeAt: number | null; readonly waitingFor: string | null }
    | { readonly status: 'pending' }
}

export interface SignalRecord {
  readonly id: number
  /** Of a value; null where it came without one. */
  readonly payload: string | null
}

/**
 * Keeps runs of workflows. One run is run by one owner at a time: `claim` gives it to one until `leaseUntil`, and whatever
 * that one writes afterwards is refused with `RUN_WORKFLOW_LOST` once another process has it, or it was cancelled.
 */
export interface WorkflowStore {
  /** A transaction is open, so that nothing here would be kept before it ends. */
  readonly inTransaction: boolean
  /** Begins a run as pending. Returns false, and changes nothing, where there is one of that id. */
  create(run: NewRun, now: number): boolean
  find(runId: string): RunRecord | null
  /** null where there is none, it has ended, or another process has it; `again` takes one that failed as well. */
  claim(runId: string, lease: Lease, again?: boolean): ClaimedRun | null
  history(runId: string): RunHistory
  record(runId: string, owner: string, change: RunChange, now: number): void
  /** The oldest of that key that was not taken. */
  signal(runId: string, key: string): SignalRecord | null
  /** Runs that could go on, without those that belong to another one. */
  due(now: number): readonly string[]
  /** When the next run goes on by itself. */
  nextWake(): number | null
}

export interface Lease {
  readonly owner: string
  readonly now: number
  readonly until: number
}
