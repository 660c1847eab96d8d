import { declaredCapabilities } from '@svc/contracts'
import { t } from '@svc/plugin-sdk'
import { hostSettings } from '../routing/host-settings.ts'
import { flag, integer, milliseconds, number } from './declare.ts'

/** Settings for agents, queues, locks and routing. */
export const scheduling = {
  enabled: flag(true, 'Whether tasks are accepted; if not, every submit is rejected.', { env: 'ENABLED', live: true }),
  max_agents: integer(8, [1, 100_000], 'Maximum number of agents.', { env: 'MAX_AGENTS', live: true }),
  min_agents: integer(1, [0, 100_000], 'Minimum number of agents; at this number, no idle agent is retired.', {
    env: 'MIN_AGENTS'
  }),
  default_priority: t.enum(['background', 'normal', 'urgent'], {
    default: 'normal',
    'x-reload': 'live',
    description: 'Default priority of a task.'
  }),
  queue_limit: integer(
    250_000,
    [1, 10_000_000],
    'Maximum waiting tasks in all queues together; further ones are rejected.',
    { live: true }
  ),
  lock_timeout_ms: milliseconds(
    30_000,
    100,
    'Milliseconds without a heartbeat after which an agent’s file lock is released.',
    {
      env: 'LOCK_TIMEOUT_MS',
      live: true
    }
  ),
  task_timeout_ms: milliseconds(1_800_000, 1_000, 'Milliseconds that a task may wait in a queue before it expires.', {
    live: true
  }),
  idle_timeout_ms: milliseconds(
    600_000,
    1_000,
    'Milliseconds without work after which the orchestrator logs a warning.',
    {
      live: true
    }
  ),
  heartbeat_interval_ms: milliseconds(5_000, 100, 'Milliseconds between checks of the agents’ heartbeats.', {
    live: true
  }),
  stale_threshold_ms: milliseconds(60_000, 100, 'Milliseconds without a heartbeat that count as a missed one.', {
    live: true
  }),
  max_task_retries: integer(3, [0, 1_000], 'Maximum retries of a failed task.', { live: true }),
  auto_continue_enabled: flag(true, 'Whether an idle agent gets a continuation task: to look for remaining work.', {
    live: true
  }),
  continuation_cooldown_ms: milliseconds(
    30_000,
    0,
    'Minimum milliseconds between two continuation tasks of one agent.',
    {
      live: true
    }
  ),
  max_auto_continuations: integer(5, [0, 10_000], 'Maximum continuation tasks of one agent in a row.', { live: true }),
  scope_enforcement: t.enum(['strict', 'warn', 'disabled'], {
    default: 'warn',
    'x-reload': 'live',
    description:
      'A task that writes outside its agent’s files is rejected (strict), reported (warn) or accepted (disabled).'
  }),
  /** Capabilities of every agent, before those of its host are added. */
  default_agent_capabilities: t.optional(declaredCapabilities),
  ...hostSettings,
  fallback_to_single_agent: flag(true, 'Whether a task without a matching agent may go to the least loaded one.', {
    env: 'FALLBACK_SINGLE'
  }),
  cost_preference: t.enum(['performance', 'economy'], {
    default: 'performance',
    'x-env': 'SVC_ORCHESTRATOR_COST_PREFERENCE',
    description: 'Whether fast or cheap models, and agents that use them, are preferred.'
  }),
  affinity_groups: t.array(
    t.object({
      name: t.string({ minLength: 1, description: 'Name of the group, and of an agent created for it.' }),
      patterns: t.array(t.string({ minLength: 1 }), { minItems: 1, description: 'Globs, relative to the project.' })
    }),
    {
      default: [],
      description: 'Groups of files that belong together; the first match wins. Default: the project’s workspaces.'
    }
  ),
  routing_exploration_epsilon: number(
    0.05,
    [0, 1],
    'Probability that a task goes to a random agent, if attention_enabled is true.'
  ),
  repo_shard_specialization_weight: number(
    1.5,
    [0, 1_000],
    'Weight of an agent’s reliability in routing tasks of a shard.',
    {
      env: 'REPO_SHARD_SPECIALIZATION_WEIGHT'
    }
  ),
  repo_shard_validation_failure_penalty: number(
    0.8,
    [0, 1_000],
    'Routing penalty for each shard of an agent that failed validation.',
    {
      env: 'REPO_SHARD_VALIDATION_FAILURE_PENALTY'
    }
  ),
  repo_reduce_conflict_cooldown_penalty: number(
    2.5,
    [0, 1_000],
    'Routing penalty after a merge conflict between shards.',
    {
      env: 'REPO_REDUCE_CONFLICT_COOLDOWN_PENALTY'
    }
  ),
  repo_reduce_conflict_cooldown_ms: milliseconds(
    300_000,
    0,
    'Duration of the penalty after a merge conflict, in milliseconds.',
    {
      env: 'REPO_REDUCE_CONFLICT_COOLDOWN_MS'
    }
  )
}
