import type { ItemToken, WorkflowChange, WorkflowRun, WorkflowStatus } from '@svc/contracts'

export const ENDED: readonly WorkflowStatus[] = ['completed', 'failed', 'cancelled']

/** A stored run. Values are JSON from `losslessText`; times are milliseconds since 1970. */
export type RunRecord = Omit<WorkflowRun, 'program' | 'completedSteps' | 'startedAt' | 'updatedAt' | 'completedAt'>

export interface NewRun extends Pick<RunRecord, 'runId' | 'workflow' | 'args' | 'parent'> {
  readonly plannedSteps: number
  /** True if the caller runs it at once: the scheduler takes it only if the caller does not. */
  readonly isCalled: boolean
}

export interface ClaimedRun extends RunRecord {
  /** True if an earlier turn did not end normally. */
  readonly wasInterrupted: boolean
}

/** History of a run. */
export interface RunHistory {
  /** Number of `workflow.continue_as_new` calls so far. */
  readonly generation: number
  /** True if the journal has entries. */
  readonly hasBegun: boolean
  /** Completed steps by step id. */
  readonly completed: Map<string, StepRecord>
  /** Due times of timers and retries, by step id. */
  readonly scheduled: ReadonlyMap<string, number>
  readonly attempts: ReadonlyMap<string, AttemptRecord>
  /** Hashes of the arguments of each step that has any, by step id. */
  readonly args: Map<string, readonly string[]>
}

export interface StepRecord {
  readonly activity: string
  /** Journal event of the step. */
  readonly event: string
  /** Result as JSON. */
  readonly result: string
}

/** The last attempt at an activity. */
export interface AttemptRecord {
  readonly attempt: number
  readonly status: 'started' | 'failed'
}

export interface SignalRecord {
  readonly id: number
  /** Payload as JSON; null if there is none. */
  readonly payload: string | null
}

/**
 * Stores workflow runs. A run has one owner at a time, assigned by `claim`. Once another owner has claimed the run, or it
 * was cancelled, writes of the former owner throw `RUN_WORKFLOW_LOST`. The end of a lease does not refuse a write.
 */
export interface WorkflowStore {
  /** True if a transaction is open, so that nothing is stored before it ends. */
  readonly inTransaction: boolean
  /** Creates a pending run, in the open transaction if there is one. Returns false, and changes nothing, if the id exists. */
  create(run: NewRun, now: number): boolean
  find(runId: string): RunRecord | null
  /** Claims a run; null if it does not exist, has ended, or is leased. `again` also claims a failed run. */
  claim(runId: string, lease: Lease, again?: boolean): ClaimedRun | null
  /** Returns a run that a scheduler has claimed for the caller; null if it was lost since. */
  adopt(claim: ScheduledClaim): ClaimedRun | null
  history(runId: string): RunHistory
  /** Stores changes in one transaction, and durably unless a transaction is open. */
  record(runId: string, owner: string, changes: readonly WorkflowChange[], now: number): void
  /** Returns the oldest unconsumed signal with this key; null if there is none. */
  signal(runId: string, key: string): SignalRecord | null
}

export interface Lease {
  readonly owner: string
  readonly now: number
  readonly until: number
}

/** A run that the scheduler has claimed, with the token of its item. */
export interface ScheduledClaim {
  readonly run: string
  readonly owner: string
  readonly token: ItemToken
  /** True if an earlier turn did not end normally. */
  readonly wasInterrupted: boolean
  /** The run, if it has no history, so that its turn need not read it. */
  readonly fresh?: WorkflowRun | null
}
