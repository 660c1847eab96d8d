import type { TaskPhase } from './task.ts'
import type { CapabilityHints, TaskView } from './task-fields.ts'

export type AgentActivity = 'writing' | 'reading' | 'executing' | 'thinking' | 'waiting_for_input' | 'idle'

export type TrustTier = 'Untrusted' | 'Provisional' | 'Trusted' | 'System'

export interface AgentView {
  readonly id: number
  readonly name: string
  readonly dynamic: boolean
  readonly paused: boolean
  readonly capabilities: CapabilityHints
  readonly queued: number
  readonly doubted: number
  readonly urgent: number
  readonly normal: number
  readonly background: number
  /** The current task. */
  readonly current_task: number | null
  readonly completed: number
  /** Sum over the agent's tasks of (priority factor × complexity / 5). */
  readonly weighted_load: number
  readonly owned_files: number
  readonly activity: AgentActivity
  readonly session_id?: string
  readonly max_handoff_count: number
  readonly active_skill?: string
  readonly current_phase?: TaskPhase
  readonly trust: number
  readonly trust_tier: TrustTier
  readonly parent_agent_id?: number
}

export interface SpawnRequest {
  readonly name: string
  /** Whether the agent is dynamic: retired after a long idle time or when it is dead. */
  readonly dynamic?: boolean
  readonly parent_agent_id?: number
  readonly source_task_id?: number
  readonly reason?: string
  readonly capabilities?: CapabilityHints
}

export type SpawnedAgent = Pick<AgentView, 'id' | 'name' | 'dynamic' | 'parent_agent_id'>

export interface RetiredAgent {
  /** Tasks that the agent had. They are no longer queued; the caller must submit them again. */
  readonly remaining_tasks: number
  /** Empty if another process retired the agent. */
  readonly tasks: readonly TaskView[]
}

/** Data that one agent passes to another when it hands over its work. */
export interface Handoff {
  readonly from_agent: number
  /** A dynamic agent is spawned if it does not exist. */
  readonly to_agent?: number
  readonly a2a_context_uri?: string
  readonly obo_token?: string
  readonly created_at?: number
  /** Milliseconds after which it is stale; default 3,600,000. */
  readonly timeout_ms?: number
  readonly plan_summary: string
  readonly completed_tasks?: readonly number[]
  readonly pending_tasks?: readonly number[]
  readonly owned_files?: readonly string[]
  readonly execution_history?: readonly {
    readonly task_id: number
    readonly agent_id: number
    readonly timestamp: number
    readonly event: string
  }[]
  readonly context_notes?: string
  readonly metadata?: readonly (readonly [string, string])[]
  readonly unresolved_objectives?: readonly string[]
  readonly verification_criteria?: readonly string[]
  readonly attachment_manifest?: unknown
}

export interface HandoffOutcome {
  readonly to_agent: number
  readonly moved_tasks: readonly number[]
  readonly moved_files: readonly string[]
}

export interface LockView {
  readonly path: string
  readonly kind: 'exclusive' | 'shared_read'
  readonly holders: readonly number[]
  readonly task_id?: number
  readonly acquired_at_ms: number
}
