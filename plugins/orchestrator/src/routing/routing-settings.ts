/** The settings that decide where tasks go, as they are named in the section `[orchestrator]`. */
export interface RoutingSettings {
  /** Whether a task that suits no agent goes to the least loaded one, and not to a new one. */
  readonly fallback_to_single_agent: boolean
  readonly qgate_reputation_routing: boolean
  readonly qgate_reputation_weight: number
  readonly repo_shard_specialization_weight: number
  readonly repo_shard_validation_failure_penalty: number
  readonly repo_reduce_conflict_cooldown_penalty: number
  readonly repo_reduce_conflict_cooldown_ms: number
  readonly attention_enabled: boolean
  /** The c of the upper confidence bound. */
  readonly attention_trust_routing_weight: number
  /** Probability with which attention has a task go to a random agent. */
  readonly routing_exploration_epsilon: number
  /** Trust below which reputation rules an agent out. */
  readonly trust_task_completion_floor: number
  readonly trust_task_completion_weight: number
}

/** Settings of the mesh that change scores. */
export interface MeshRoutingSettings {
  readonly routing_experimental: boolean
  readonly training_routing_experimental: boolean
  /** [0, 1]. */
  readonly training_budget_pressure: number
}

/** No mesh. */
export const NO_MESH: MeshRoutingSettings = {
  routing_experimental: false,
  training_routing_experimental: false,
  training_budget_pressure: 0
}
