import type { QgatePolicy } from './qgate.ts'
import type { ExecutionRole } from './task.ts'

/** Settings of the section `[orchestrator]` that other plugins obey, too. */
export interface OrchestratorPolicy {
  readonly planning: {
    readonly enabled: boolean
    readonly router_enabled: boolean
    readonly replan_enabled: boolean
    readonly llm_synthesis_enabled: boolean
    readonly workflow_handoff_enabled: boolean
    readonly shadow_mode: boolean
    readonly auto_mode_enabled: boolean
    /** 0 to 100. */
    readonly rollout_percent: number
    readonly adequacy_shadow: boolean
    readonly adequacy_enforce: boolean
    readonly depth: 'minimal' | 'standard' | 'deep'
  }
  /** Thresholds of the quality gate, from the settings. */
  readonly qgate: QgatePolicy
  readonly context_lifecycle: { readonly shadow: boolean; readonly enforce: boolean }
  readonly chatml_strict: boolean
  readonly research_model_enabled: boolean
  readonly cost_preference: 'performance' | 'economy'
  /** Base URL of the model server for tasks; null: the project's model server. */
  readonly inference_base_url: string | null
  /** Whether `cost_incurred` is emitted for model calls. */
  readonly llm_cost_events: boolean
  readonly migration: { readonly v2_enabled: boolean; readonly legacy_fallback: boolean }
  /** Added to lineage payloads. */
  readonly campaign_id: string | null
  /** Default of `tenant_id`. */
  readonly account_id: string | null
  readonly unified_routing: boolean
  readonly max_agents: number
  readonly mesh: MeshPolicy
  /** Requests that tools send to a running daemon of this repository instead of the local orchestrator. */
  readonly daemon_pilots: {
    /** Whether a daemon of another repository is logged as an error instead of a warning. */
    readonly repository_id_strict: boolean
    readonly reads: boolean
    readonly task_status: boolean
    readonly start: boolean
    readonly status_tool: boolean
    readonly writes: boolean
    readonly task_writes: boolean
    readonly agent_writes: boolean
  }
}

/** Settings `mesh_*` of the orchestrator. */
export interface MeshPolicy {
  /** Base URL of the control plane; null: the one of the section `[mesh]`. */
  readonly control_url: string | null
  /** 0: nodes are not queried. */
  readonly poll_interval_secs: number
  readonly http_timeout_ms: number
  /** Age of a node's last heartbeat in milliseconds above which it is stale. */
  readonly stale_threshold_ms: number
  readonly routing_experimental: boolean
  readonly rebalance_on_remote_schedulable_drop: boolean
  readonly replay_queued_routes_on_remote_schedulable_drop: boolean
  readonly training_routing_experimental: boolean
  /** Share of the training budget in use, [0, 1]. */
  readonly training_budget_pressure: number
  /** Whether tasks may be relayed to other machines. */
  readonly remote_execute_experimental: boolean
  readonly remote_lease_gating_enabled: boolean
  /** Roles whose tasks need an execution lease; empty: no task. */
  readonly remote_lease_gated_roles: readonly ExecutionRole[]
  /** Decimal agent id; null: nothing is relayed, and a worker uses 2. */
  readonly remote_execute_receiver_agent: string | null
  /** Decimal agent id, which is also the inbox of results. */
  readonly remote_execute_sender_agent: string
  /** 0: results are not polled. */
  readonly remote_result_poll_interval_secs: number
  /** 0: no remote work is accepted. */
  readonly remote_worker_poll_interval_secs: number
  readonly remote_result_max_messages_per_poll: number
  readonly exec_lease_reconcile: boolean
  readonly exec_lease_auto_revoke: boolean
  /** Maximum duration of a hold in milliseconds. */
  readonly remote_lease_timeout_ms: number
}
