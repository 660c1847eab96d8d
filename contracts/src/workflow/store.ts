import { service } from '@svc/plugin-sdk'
import type { ItemToken } from '../coordination/store.ts'

/**
 * Stores of workflow runs on a database server that several hosts share.
 *
 * - A run is an item of the coordination store on the same server. Each change of a run is one transaction that checks the
 *   fence of its item first, so a former owner changes nothing.
 * - Values are JSON texts of the runtime, which the store does not read. Times are Unix milliseconds of the caller, except
 *   for leases and delays, which the server measures.
 *
 * All methods may throw `CRD_CLOSED`, `CRD_FAILED` and `CRD_UNAVAILABLE`. After `CRD_UNAVAILABLE` the outcome is unknown.
 */
export const workflowStores = service<WorkflowStores>('workflow.store@1')

export interface WorkflowStores {
  /** Opens the runs of a repository; null if no server is configured. */
  readonly open: ((repository: string) => SharedWorkflowRuns) | null
}

export interface SharedWorkflowRuns extends WorkflowTurns, WorkflowQueue, WorkflowMeshQueue, WorkflowAdmin {}

export type WorkflowStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'

export interface WorkflowRun {
  readonly runId: string
  readonly workflow: string
  /** Path of the program in its project. */
  readonly program: string
  readonly status: WorkflowStatus
  readonly args: string
  readonly result: string | null
  readonly error: string | null
  readonly wakeAt: number | null
  readonly waitingFor: string | null
  readonly parent: string | null
  readonly completedSteps: number
  readonly startedAt: number
  readonly updatedAt: number
  readonly completedAt: number | null
}

export interface NewWorkflowRun {
  readonly runId: string
  readonly workflow: string
  readonly program: string
  readonly args: string
  readonly parent: string | null
  readonly plannedSteps: number
  /** Milliseconds until a scheduler may claim the run. */
  readonly delayMs: number
  readonly plan: { readonly session: string | null; readonly node: string | null; readonly version: number | null }
  /** Names this start for ever: a second start with it creates nothing, also after the run was deleted. */
  readonly startKey?: string
}

export interface WorkflowClaim {
  readonly run: WorkflowRun
  readonly token: ItemToken
  /** True if an earlier turn did not end normally. */
  readonly wasInterrupted: boolean
}

/** Changes of a run, in the order in which they are written. */
export interface WorkflowChange {
  /** Journal entries as JSON. */
  readonly entries?: readonly string[]
  readonly completed?: {
    readonly step: string
    readonly activity: string
    readonly event: string
    readonly result: string
  }
  readonly scheduled?: { readonly step: string; readonly activity: string; readonly at: number }
  readonly attempt?: {
    readonly step: string
    readonly attempt: number
    readonly status: 'started' | 'failed'
    readonly error: string | null
    /** Hashes of the arguments, stored with the first attempt. */
    readonly args?: readonly string[]
  }
  /** Id of the consumed signal. */
  readonly signal?: number
  /** A step for the mesh that the run waits for. It is stored until it is answered; a stored key adds nothing. */
  readonly meshStep?: { readonly key: string; readonly body: string }
  /** Ends the owner's turn. */
  readonly turn?:
    | { readonly status: 'completed'; readonly result: string }
    | { readonly status: 'failed'; readonly error: string }
    | { readonly status: 'waiting'; readonly wakeAt: number | null; readonly waitingFor: string | null }
    | { readonly status: 'pending'; readonly delayMs?: number }
    /** The run begins again with other arguments, and without its steps. */
    | { readonly status: 'continued'; readonly args: string }
}

export interface WorkflowHistory {
  readonly generation: number
  readonly hasBegun: boolean
  readonly completed: readonly {
    readonly step: string
    readonly activity: string
    readonly event: string
    readonly result: string
  }[]
  readonly scheduled: readonly { readonly step: string; readonly at: number }[]
  /** Last attempt of each step. */
  readonly attempts: readonly {
    readonly step: string
    readonly attempt: number
    readonly status: 'started' | 'failed'
  }[]
  readonly args: readonly { readonly step: string; readonly hashes: readonly string[] }[]
}

/** Methods for the owner of a turn. */
export interface WorkflowTurns {
  /** URL of the server without credentials. */
  readonly location: string
  /** False, and nothing changes, if the id exists or `startKey` was used. */
  create(run: NewWorkflowRun, now: number): Promise<boolean>
  find(runId: string): Promise<WorkflowRun | null>
  /**
   * Claims a run. `again`: also a failed one. Null if it does not exist or has ended; the token and holder of the lease if
   * it is leased.
   */
  claim(
    runId: string,
    lease: { readonly owner: string; readonly leaseMs: number; readonly now: number; readonly again: boolean }
  ): Promise<WorkflowClaim | { readonly token: ItemToken; readonly heldBy: string } | null>
  /** Returns a run that `claimReady` has claimed; null if it was lost since. */
  adopt(runId: string, token: ItemToken): Promise<WorkflowRun | null>
  history(runId: string): Promise<WorkflowHistory>
  /** Stores changes in one transaction. False, and nothing changes, if the token is no longer valid. */
  record(
    runId: string,
    token: ItemToken,
    changes: readonly WorkflowChange[],
    turn: { readonly owner: string; readonly now: number }
  ): Promise<boolean>
  /** Returns the oldest unconsumed signal with this key. */
  signal(runId: string, key: string): Promise<{ readonly id: number; readonly payload: string | null } | null>
}

export interface WorkflowOutlook {
  readonly isReady: boolean
  /** Milliseconds from now; null if nothing waits for a time. */
  readonly nextInMs: number | null
  readonly leased: readonly (ItemToken & { readonly holder: string })[]
}

export interface WorkflowReadyClaim {
  readonly runId: string
  readonly token: ItemToken
  readonly wasInterrupted: boolean
  readonly completedSteps: number
  /**
   * A run without a history, unless it has long arguments: its turn needs neither `adopt` nor `history`, because its first
   * change is refused if it was lost.
   */
  readonly fresh: WorkflowRun | null
}

/** Methods for a scheduler. */
export interface WorkflowQueue {
  /** Whether runs, or steps for the mesh, of a program can be claimed, when the next ones can, and their leases. */
  outlook(program: string, of?: 'runs' | 'mesh'): Promise<WorkflowOutlook>
  /** Claims ready runs. Their first change marks them as running. Child runs are claimed by their parents only. */
  claimReady(
    program: string,
    owner: string,
    options: { readonly max: number; readonly leaseMs: number }
  ): Promise<readonly WorkflowReadyClaim[]>
  extend(tokens: readonly ItemToken[], leaseMs: number): Promise<void>
  /** Returns claimed runs to the queue. */
  giveBack(tokens: readonly ItemToken[]): Promise<void>
  /** Ends a turn that failed outside of the program: the run fails, or runs again. Nothing changes if it was lost. */
  interrupted(
    runId: string,
    token: ItemToken,
    end: { readonly error: string; readonly fails: boolean; readonly now: number }
  ): Promise<void>
}

/** Methods for the steps of runs that are done on a mesh. Leases are those of {@link WorkflowQueue}. */
export interface WorkflowMeshQueue {
  /** Id of these runs, by which their steps differ in a mesh from those of other stores. */
  meshId(): Promise<string>
  /** Notes that a host with a mesh does the steps of a program in the next `forMs` milliseconds. */
  offerMesh(program: string, forMs: number): Promise<void>
  /** True if a host with a mesh does the steps of a program now. */
  isMeshOffered(program: string): Promise<boolean>
  claimMesh(
    program: string,
    owner: string,
    options: { readonly max: number; readonly leaseMs: number }
  ): Promise<readonly { readonly body: string; readonly token: ItemToken }[]>
  /** True if a run has a signal with this key, consumed or not. */
  isSignalled(runId: string, key: string): Promise<boolean>
  /**
   * Stores the answer to a step as a signal of its run, and removes the step, in one transaction. `signal`: null to remove
   * it without an answer. False, and nothing changes, if the token is no longer valid.
   */
  answerMesh(
    token: ItemToken,
    signal: { readonly runId: string; readonly key: string; readonly payload: string } | null,
    now: number
  ): Promise<boolean>
  /** Returns those of the runs that exist. */
  states(runIds: readonly string[]): Promise<readonly Pick<WorkflowRun, 'runId' | 'status' | 'waitingFor'>[]>
}

/** Methods for the operations on runs. */
export interface WorkflowAdmin {
  /** URL or file, for messages. */
  readonly location: string
  find(runId: string): Promise<WorkflowRun | null>
  /** The newest runs first. */
  list(filter: {
    readonly workflow: string | null
    readonly status: string | null
    readonly program: string | null
    readonly active: boolean
    readonly limit: number
  }): Promise<readonly WorkflowRun[]>
  /** Returns the newest entries in order, and the number of all. `limit`: null for all. */
  journal(
    runId: string,
    limit: number | null
  ): Promise<{ readonly total: number; readonly entries: readonly WorkflowEntry[] }>
  /** Returns what the journal does not have: the newest of each kind, the newest first. */
  times(runId: string, limit: number): Promise<WorkflowTimes>
  /** Stores a signal, and wakes a run that waits for it. Returns the status; null if the run does not exist. */
  send(runId: string, key: string, payload: string | null, now: number): Promise<WorkflowStatus | null>
  /** Cancels a run unless it has ended. Returns its status; null if it does not exist. */
  cancel(runId: string, now: number): Promise<WorkflowStatus | null>
  /** Drops the results of a step and of all later ones, and makes the run pending. `step`: null for the first one. */
  reset(runId: string, step: string | null, now: number): Promise<WorkflowReset>
  /** Deletes ended runs beyond the retention, with their child runs. Returns their number. */
  prune(options: WorkflowRetention & { readonly dryRun: boolean }): Promise<number>
  /** Runs that wait for a signal which was not sent yet, those that wait longest first. `args`: the first characters. */
  waiting(options: {
    readonly limit: number
    readonly argsLength: number
    readonly hiddenPrefix: string
  }): Promise<readonly WorkflowRun[]>
  search(text: string, limit: number): Promise<readonly Pick<WorkflowRun, 'runId' | 'workflow' | 'status'>[]>
  /** Ids of a run and its child runs, at most `limit`. */
  family(runId: string, limit: number): Promise<readonly string[]>
  history(runId: string): Promise<WorkflowHistory>
}

export interface WorkflowEntry {
  readonly entry: string
  readonly at: number
}

export interface WorkflowTimes {
  readonly starts: readonly { readonly step: string; readonly attempt: number; readonly at: number }[]
  readonly waits: readonly {
    readonly step: string
    readonly activity: string
    readonly at: number
    readonly due: number
  }[]
  readonly signals: readonly { readonly key: string; readonly at: number; readonly consumed: number | null }[]
  readonly children: readonly Pick<WorkflowRun, 'runId' | 'workflow' | 'status' | 'startedAt' | 'completedAt'>[]
}

export type WorkflowReset =
  | { readonly kind: 'reset'; readonly dropped: number }
  | { readonly kind: 'unknown_run' }
  | { readonly kind: 'unknown_step' }
  /** `runId` is running now. */
  | { readonly kind: 'running'; readonly runId: string }

export interface WorkflowRetention {
  /** null: each program. */
  readonly program: string | null
  /** Runs to keep of each program. */
  readonly runs: number
  /** Runs that ended before are deleted. */
  readonly before: number
}
