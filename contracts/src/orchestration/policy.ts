import type { QgatePolicy } from './qgate.ts'

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
