import type { AgentActivity } from './agent.ts'
import type { TaskPhase } from './task.ts'

/** Event of the orchestrator. Ids count up from 1 in a process. An event is sent after its change is durable. */
export interface AgentEvent {
  readonly id: number
  readonly timestamp_ms: number
  readonly kind: AgentEventKind
}

interface HandoffFacts {
  readonly plan_summary: string
  readonly has_context_envelope: boolean
  readonly has_harness_spec: boolean
  readonly session_id?: string
  readonly thread_id?: string
}

/** Event data. Ids are numbers, paths strings, times milliseconds. Readers must ignore unknown types and fields. */
export type AgentEventKind =
  | { readonly type: 'agent_spawned'; readonly agent_id: number; readonly name: string }
  | { readonly type: 'agent_retired'; readonly agent_id: number }
  | {
      readonly type: 'agent_heartbeat' | 'activity_changed'
      readonly agent_id: number
      readonly activity: AgentActivity
      readonly active_skill?: string
    }
  | { readonly type: 'agent_idle' | 'agent_busy'; readonly agent_id: number; readonly level?: string }
  | { readonly type: 'operating_mode_changed'; readonly agent_id: number; readonly mode: string }
  | {
      readonly type: 'task_submitted'
      readonly task_id: number
      readonly agent_id: number
      readonly description: string
      readonly session_id?: string
      /** Absent while the task is being placed on another machine; `task_placed` follows. */
      readonly placement_reason?: string
    }
  | {
      /** A task was placed on another machine, or fell back to its local queue. */
      readonly type: 'task_placed'
      readonly task_id: number
      readonly agent_id: number
      readonly placement_reason: string
      readonly lease_id?: string
      readonly mesh_node_id?: string
      readonly claimer_node_id?: string
      /** Why it is queued locally. */
      readonly reason?: string
    }
  | {
      readonly type: 'task_started'
      readonly task_id: number
      readonly agent_id: number
      readonly session_id?: string
    }
  | {
      readonly type: 'task_phase_changed'
      readonly task_id: number
      readonly agent_id: number
      readonly phase: TaskPhase
    }
  | {
      readonly type: 'task_completed'
      readonly task_id: number
      readonly agent_id: number
      readonly session_id?: string
      readonly audit_report?: string
    }
  | {
      readonly type: 'task_failed'
      readonly task_id: number
      readonly agent_id: number
      readonly error: string
      readonly session_id?: string
      readonly audit_report?: string
    }
  | { readonly type: 'task_cancelled' | 'task_approved'; readonly task_id: number; readonly agent_id: number }
  | {
      readonly type: 'task_requeued'
      readonly task_id: number
      readonly agent_id: number
      readonly gate: string
      readonly reason: string
      readonly iteration: number
    }
  | {
      readonly type: 'task_delegated'
      readonly parent_agent_id: number
      readonly child_agent_id: number
      readonly task_id: number
      readonly reason: string
    }
  | {
      readonly type: 'task_doubted'
      readonly task_id: number
      readonly agent_id: number
      readonly reason?: string
    }
  | {
      readonly type: 'task_resolved'
      readonly task_id: number
      readonly agent_id: number
      readonly validated: boolean
      readonly report: string
    }
  | {
      readonly type: 'task_expired'
      readonly task_id: number
      readonly agent_id: number
      readonly age_ms: number
    }
  | {
      readonly type: 'task_reprioritized'
      readonly task_id: number
      readonly agent_id: number
      readonly priority: string
    }
  | { readonly type: 'doubt_reported'; readonly agent_id: number; readonly task_id: number; readonly reason: string }
  | {
      readonly type: 'tool_timed_out'
      readonly agent_id: number
      readonly tool_key: string
      readonly attempted_budget_ms: number
    }
  | { readonly type: 'lock_acquired'; readonly agent_id: number; readonly path: string; readonly exclusive: boolean }
  | { readonly type: 'lock_released'; readonly agent_id: number; readonly path: string }
  | { readonly type: 'message_sent'; readonly from: number; readonly to?: number; readonly summary: string }
  | {
      readonly type: 'cost_incurred'
      readonly agent_id: number
      readonly provider: string
      readonly model: string
      readonly input_tokens: number
      readonly output_tokens: number
      readonly cost_usd: number
      readonly temporal_context?: string
    }
  | { readonly type: 'emergency_stop'; readonly reason?: string }
  | {
      readonly type: 'continuation_triggered'
      readonly agent_id: number
      readonly strategy: string
      readonly active_skill?: string
    }
  | ({
      readonly type: 'plan_handoff'
      readonly from: number
      readonly to: number
      readonly from_role?: string
    } & HandoffFacts)
  | ({ readonly type: 'agent_handoff_accepted'; readonly agent_id: number; readonly from: number } & HandoffFacts)
  | { readonly type: 'agent_handoff_rejected'; readonly from: number; readonly reason: string }
  | { readonly type: 'scope_violation'; readonly agent_id: number; readonly path: string; readonly reason: string }
  | {
      readonly type: 'session_created' | 'session_reset'
      readonly agent_id: number
      readonly session_id: string
      readonly turns_cleared?: number
    }
  | {
      readonly type: 'snapshot_captured'
      readonly agent_id: number
      readonly snapshot_id: string
      readonly file_count: number
      readonly description: string
      readonly session_id?: string
    }
  | { readonly type: 'urgent_rebalance_triggered'; readonly moved: number }
  | { readonly type: 'token_streamed'; readonly agent_id: number; readonly text: string; readonly task_id?: number }
  | { readonly type: 'injection_detected'; readonly detail: string }
  | { readonly type: 'prompt_conflict_detected'; readonly task_id: number; readonly warnings: readonly string[] }
  | {
      readonly type: 'planning_routed'
      readonly strategy: string
      readonly complexity: number
      readonly confidence: number
      readonly rationale: string
    }
  | {
      readonly type: 'plan_session_created'
      readonly plan_session_id: string
      readonly strategy: string
      readonly version: number
    }
  | {
      readonly type: 'plan_version_created'
      readonly plan_session_id: string
      readonly version: number
      readonly parent_version?: number
    }
  | {
      readonly type: 'replan_triggered'
      readonly plan_session_id: string
      readonly node_id: string
      readonly reason: string
      readonly next_version: number
    }
  | { readonly type: 'workflow_handoff_requested'; readonly plan_session_id: string; readonly workflow_name: string }
  | { readonly type: 'workflow_handoff_completed'; readonly plan_session_id: string; readonly task_id: number }
  | {
      readonly type: 'endpoint_reliability_observation'
      readonly endpoint_url: string
      readonly model_id: string
      readonly hallucination_proxy: number
      readonly contradiction_ratio: number
      readonly infra_failure: boolean
      readonly rate_limit_hit: boolean
      readonly timeout_hit: boolean
    }
  | { readonly type: 'orchestrator_idle'; readonly idle_ms: number }
  | {
      readonly type: 'attention_budget_alert'
      readonly agent_id: number
      readonly threshold: number
      readonly spent_ms: number
      readonly max_ms: number
    }
  | {
      readonly type: 'attention_budget_reset'
      readonly agent_id: number
      readonly new_max_ms: number
      readonly reason: string
    }
  | { readonly type: 'trust_override'; readonly agent_id: number; readonly tier: string; readonly reason: string }
  | { readonly type: 'attention_config_reloaded' }
  | { readonly type: 'budget_alert'; readonly agent_id: number; readonly signal: string }
  | {
      readonly type: 'context_truncated'
      readonly session_id: string
      readonly section: string
      readonly chars_dropped: number
    }
  | {
      readonly type: 'llm_call_completed'
      readonly session_id: string
      readonly duration_ms: number
      readonly prompt_tokens: number
      readonly completion_tokens: number
    }
  | {
      readonly type: 'observation_recorded'
      readonly agent_id: number
      readonly task_id: number
      readonly note: string
    }
  | { readonly type: 'note_published'; readonly agent_id: number; readonly topic: string; readonly text: string }
