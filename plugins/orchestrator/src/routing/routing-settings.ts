import type { Settings } from '../settings.ts'

/** Settings of the section `[orchestrator]` for routing. */
export type RoutingSettings = Pick<
  Settings,
  | 'fallback_to_single_agent'
  | 'qgate_reputation_routing'
  | 'qgate_reputation_weight'
  | 'repo_shard_specialization_weight'
  | 'repo_shard_validation_failure_penalty'
  | 'repo_reduce_conflict_cooldown_penalty'
  | 'repo_reduce_conflict_cooldown_ms'
  | 'attention_enabled'
  | 'attention_trust_routing_weight'
  | 'routing_exploration_epsilon'
  | 'trust_task_completion_floor'
  | 'trust_task_completion_weight'
>

/** Settings of the mesh that change scores. */
export interface MeshRoutingSettings {
  readonly routing_experimental: boolean
  readonly training_routing_experimental: boolean
  /** Share of the training budget in use, [0, 1]. */
  readonly training_budget_pressure: number
}

/** Mesh settings without a mesh. */
export const NO_MESH: MeshRoutingSettings = {
  routing_experimental: false,
  training_routing_experimental: false,
  training_budget_pressure: 0
}
