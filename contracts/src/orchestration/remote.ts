import { point } from '@svc/plugin-sdk'
import type { Attestation, RemoteDelegate } from './task.ts'
import type { CapabilityHints, TaskView } from './task-fields.ts'

/**
 * Plugins that place tasks on other machines. The first placer that wants a task gets it, in the order of their names.
 */
export const remotePlacers = point<RemotePlacer>('orchestrator.remote-placers', { keys: placer => [placer.name] })

/**
 * Places tasks on other machines. A submitted task is placed in three steps:
 *
 * 1. If a placer wants the task and its agent is free, the task is created in progress, with an unconfirmed
 *    {@link RemoteDelegate} in the same commit. Local workers never get it.
 * 2. The placer's `place` runs, outside of any command.
 * 3. If it succeeds, the delegate is confirmed; otherwise the task is queued locally. It is never placed again.
 */
export interface RemotePlacer {
  /** Unique name, at most 64 characters; `RemoteDelegate.placer` of its tasks. */
  readonly name: string
  /**
   * Decides whether this placer wants a new task. Not called for tasks that came from another machine. Synchronous,
   * without I/O. A throw counts as false.
   */
  wants(task: TaskView): boolean
  /**
   * Places a task whose `remote.idempotency_key` names this hold. A rejection queues the task locally, with the error's
   * message as the reason. The signal aborts after 60 s, and when the task is cancelled or the orchestrator closes. If
   * the promise resolves later, the work is withdrawn through {@link RemoteWork.withdrawn}.
   */
  place(task: PlacingTask, signal: AbortSignal): Promise<RemotePlacement>
}

export interface PlacingTask extends TaskView {
  readonly remote: RemoteDelegate
}

/** Where a task was placed. */
export type RemotePlacement = Pick<RemoteDelegate, 'lease_id' | 'mesh_node_id' | 'claimer_node_id' | 'message_id'>

/** Why the work of a delegate is no longer wanted; `moved`: the task ended or continues without it. */
export type WithdrawalReason = 'cancelled' | 'expired' | 'moved'

/** Another machine, for routing and scaling. Flags are those of the last query. */
export interface RemoteNode {
  readonly node_id: string
  /** Resources of the node: memory of its GPU in `min_vram_mb`, and cores in `cpu_cores`. */
  readonly capabilities: CapabilityHints
  readonly labels: readonly string[]
  /** True if the node has a GPU that is ready. */
  readonly has_gpu: boolean
  readonly maintenance: boolean
  readonly quarantined: boolean
  readonly heartbeat_stale: boolean
}

/** Returns true if tasks may be placed on a node. */
export function isSchedulable(node: RemoteNode): boolean {
  return !node.quarantined && !node.maintenance && !node.heartbeat_stale
}

/** A task in progress on another machine. */
export interface HeldTask {
  readonly task_id: number
  readonly agent_id: number
  readonly delegate: RemoteDelegate
  /** Start of the hold in Unix milliseconds. */
  readonly since_ms: number
}

/**
 * The orchestrator's side of remote work. Each hold has its own key, `RemoteDelegate.idempotency_key`. Calls with a key
 * that is not the task's current one change nothing and return `stale`: so a late result of an earlier worker, or a
 * second result, has no effect.
 *
 * A hold ends after `policy.mesh.remote_lease_timeout_ms` without a result: the task is queued locally.
 */
export interface RemoteWork {
  /**
   * Replaces the nodes of one source. Returns the number of schedulable nodes of all sources before and after. If it
   * dropped, the orchestrator logs the drop, rebalances and replays queued routes itself, according to its settings
   * `mesh_rebalance_on_remote_schedulable_drop` and `mesh_replay_queued_routes_on_remote_schedulable_drop`. The node
   * lists survive a reload of the orchestrator. A source that cannot query its nodes sets an empty list.
   */
  setNodes(source: string, nodes: readonly RemoteNode[]): { readonly before: number; readonly after: number }
  /** Returns the nodes of all sources, and the sources that listed them. */
  nodes(): readonly (RemoteNode & { readonly source: string })[]
  /** Returns the tasks in progress on other machines, including unconfirmed ones, by id. */
  held(): readonly HeldTask[]
  /**
   * Completes a held task with a remote result. `done`: the result was used; a gate may have sent the task back to its
   * local queue. Rejects with the error of a gate that refuses the completion; the task then stays held. `node`: the node
   * that executed the task, if `place` did not know it; the delegate names it from then on.
   */
  complete(task: number, key: string, attestation: Attestation, node?: string): Promise<'done' | 'stale'>
  /** Fails a held task with a remote error. `node`: as for {@link RemoteWork.complete}. */
  fail(task: number, key: string, error: string, node?: string): Promise<'done' | 'stale'>
  /** Records the node that has begun a held task. */
  accept(task: number, key: string, node: string): Promise<'done' | 'stale'>
  /**
   * Ends a hold: the task is queued locally, with the placement `local_queue_fallback_after_remote_relay_error`. The
   * caller withdraws its work first; listeners of `withdrawn` are not called.
   */
  fallBack(task: number, key: string, reason: string): Promise<'queued' | 'stale'>
  /**
   * Calls the listener when the orchestrator ends a hold, once that is durable: the placer withdraws the envelope, sends
   * a cancellation and releases the lease. Delegates of all placers are reported: compare `delegate.placer`. The
   * subscription survives a reload of the orchestrator. Returns the unsubscribe function.
   */
  withdrawn(listener: (task: number, delegate: RemoteDelegate, why: WithdrawalReason) => void): () => void
}
