import { service } from '@svc/plugin-sdk'

/** Runs the `mesh_…` activities of workflows. If no plugin provides it, they run in the program's own process. */
export const meshActivities = service<MeshActivities>('mesh.activities@1')

export const MESH_OPERATIONS = ['noop', 'join', 'snapshot', 'heartbeat', 'dispatch', 'wait'] as const
export type MeshOperation = (typeof MESH_OPERATIONS)[number]

export interface MeshActivities {
  /**
   * Runs one step of a workflow. Rejects if it fails; the step is then retried as its options say, with another key. A step
   * that is requested again with its key, for example after a restart, is not done twice.
   *
   * If the signal is aborted with a `TimeoutError`, the step is no longer wanted, and its work is cancelled. With another
   * reason, this process stops: the work goes on, and the step is requested again.
   */
  run(request: MeshActivityRequest, signal: AbortSignal): Promise<MeshActivityOutcome>
  /**
   * Called once the outcome of a step is stored: it is not requested again, so that what was kept for that can be removed.
   * Never rejects.
   */
  forget(key: string): Promise<void>
}

export interface MeshActivityRequest {
  /** Identifies the attempt of the step for ever. */
  readonly key: string
  readonly operation: MeshOperation
  readonly workflow: string
  readonly activity: string
  /** Labels that the node must have; for `dispatch`. */
  readonly labels: readonly string[]
  /** Arguments of the activity by parameter, as JSON. */
  readonly args: Readonly<Record<string, unknown>>
  /** Time that is left for the attempt. */
  readonly timeoutMs: number
}

/** Outcome of a step, with the names of the journal's event `MeshActivity`. */
export interface MeshActivityOutcome {
  /** For example `join_ok` or `local_registry_only`. */
  readonly control: string
  readonly node_id?: string
  readonly node_count?: number
  readonly schema_version?: number
  /** Result of the node, for `dispatch` and `wait`. If it is absent, the body of the activity runs. */
  readonly output?: string
}
