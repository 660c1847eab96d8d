import type { EnqueueHints, FileAffinity, SubmitRequest, TestDecision } from '@svc/contracts'

/** Status of a plan. The last three are final until `replan` or `resume` reopens the plan. */
export type SessionStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled'

export type NodeStatus = 'pending' | 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'superseded'

/** Permissions and limits of a step; stored as JSON and passed to its task. */
export interface ExecutionPolicy {
  readonly allowed_skills: readonly string[]
  readonly allowed_action_labels: readonly ('read' | 'write' | 'execute')[]
  readonly file_manifest: readonly FileAffinity[]
  readonly enqueue_hints?: EnqueueHints
  readonly force_risky: boolean
  readonly force_risky_reason?: string
  /** Kinds of failures, or `custom:TEXT`, for which the plan is replanned. */
  readonly replan_triggers: readonly string[]
  /** Maximum attempts after the first. */
  readonly max_retries: number
  readonly timeout_ms?: number
  readonly test_decision?: TestDecision
  readonly preconditions?: readonly string[]
}

export interface PlanSession {
  readonly id: string
  readonly originSession: string | null
  readonly goal: string
  readonly strategy: string
  readonly version: number
  readonly status: SessionStatus
  readonly rounds: number
  readonly stopReason: string | null
  readonly metadata: SessionMetadata
  /** UTC, in SQLite's format `YYYY-MM-DD HH:MM:SS`. */
  readonly createdAt: string
  readonly updatedAt: string
}

/** Session data without a separate column; stored as JSON. */
export interface SessionMetadata {
  readonly summary?: string
  readonly scope_files?: readonly string[]
  readonly max_tasks?: number
  readonly mode?: string
  readonly source?: string
  readonly telemetry_session_id?: string
  readonly answerer_profile?: string
  readonly goal_type?: string
  readonly goal_scope?: string
  /** Fields of the submitted goal that the tasks of its steps inherit. */
  readonly request?: Pick<
    SubmitRequest,
    'priority' | 'agent_name' | 'capabilities' | 'depends_on' | 'approvals' | 'hints'
  >
}

export interface PlanNode {
  readonly id: string
  readonly version: number
  readonly description: string
  /** Ids of nodes of the same version. */
  readonly dependsOn: readonly string[]
  readonly policy: ExecutionPolicy
  readonly status: NodeStatus
  /** Name of the workflow to which the step is handed; null for an ordinary task. */
  readonly workflow: string | null
}

export type NewNode = Omit<PlanNode, 'version'>

/** Plan with the number of steps of its current version. */
export interface PlanOverview {
  readonly session: PlanSession
  readonly steps: number
  readonly completed: number
}

export interface PlanVersion {
  readonly version: number
  readonly parent: number | null
  readonly triggerEvent: string | null
  readonly quality: number
  readonly verdict: string
  readonly createdAt: string
}

export interface NewVersion {
  readonly triggerEvent: string
  readonly triggerPayload: Readonly<Record<string, unknown>>
  /** Adequacy, [0, 1]. */
  readonly quality: number
  readonly verdict: 'pending' | 'adequate' | 'thin'
}

export interface NodeAttempt {
  readonly version: number
  readonly node: string
  readonly number: number
  readonly task: number | null
  /** Null while its task has not ended. */
  readonly outcome: string | null
  readonly error: string | null
  readonly latencyMs: number | null
  readonly createdAt: string
}

export const UNFINISHED: readonly NodeStatus[] = ['pending', 'queued', 'in_progress', 'failed', 'cancelled']
