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
  | 'mesh_routing_experimental'
  | 'mesh_training_routing_experimental'
  | 'mesh_training_budget_pressure'
>
