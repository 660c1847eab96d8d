import { declaredCapabilities } from '@svc/contracts'
import { t } from '@svc/plugin-sdk'
import { hostSettings } from '../routing/host-settings.ts'
import { flag, integer, milliseconds, real } from './declare.ts'

/** Agents, queues, locks and where tasks go. */
export const scheduling = {
  enabled: flag(true, 'Whether tasks are accepted; if not, each submit is refused.', { env: 'ENABLED', live: true }),
  max_agents: integer(8, [1, 100_000], 'The most agents that there may be.', { env: 'MAX_AGENTS', live: true }),
  min_agents: integer(1, [0, 100_000], 'Agents below which none is retired for being idle.', { env: 'MIN_AGENTS' }),
  default_priority: t.enum(['background', 'normal', 'urgent'], {
    default: 'normal',
    'x-reload': 'live',
    description: 'Priority of a task that names none.'
  }),
  queue_limit: integer(
    250_000,
    [1, 10_000_000],
    'Tasks that may wait, in all queues together; further ones are refused.',
    { live: true }
  ),
  lock_timeout_ms: milliseconds(30_000, 100, 'Milliseconds after which a lock on a file is released by force.', {
    env: 'LOCK_TIMEOUT_MS',
    live: true
  }),
  task_timeout_ms: milliseconds(1_800_000, 1_000, 'Milliseconds that a task may wait in a queue before it expires.', {
    live: true
  }),
  idle_timeout_ms: milliseconds(600_000, 1_000, 'Milliseconds without work after which the orchestrator says so.', {
    live: true
  }),
  heartbeat_interval_ms: milliseconds(5_000, 100, 'Milliseconds between two looks at the agents’ signs of life.', {
    live: true
  }),
  stale_threshold_ms: milliseconds(60_000, 100, 'Milliseconds without a sign of life that count as one missed.', {
    live: true
  }),
  max_task_retries: integer(3, [0, 1_000], 'How often a failed task may be queued again on request.', { live: true }),
  auto_continue_enabled: flag(true, 'Whether an idle agent is given a task to look for what is left to do.', {
    live: true
  }),
  continuation_cooldown_ms: milliseconds(30_000, 0, 'Milliseconds between two such tasks of one agent.', {
    live: true
  }),
  max_auto_continuations: integer(5, [0, 10_000], 'The most such tasks that one agent is given.', { live: true }),
  scope_enforcement: t.enum(['strict', 'warn', 'disabled'], {
    default: 'warn',
    'x-reload': 'live',
    description: 'Effect of a task that writes outside the files of its agent: refused, reported or ignored.'
  }),
  /** Of every agent, before its host is probed. */
  default_agent_capabilities: t.optional(declaredCapabilities),
  ...hostSettings,
  fallback_to_single_agent: flag(true, 'Whether a task that suits no agent goes to the least loaded one.', {
    env: 'FALLBACK_SINGLE'
  }),
  cost_preference: t.enum(['performance', 'economy'], {
    default: 'performance',
    'x-env': 'SVC_ORCHESTRATOR_COST_PREFERENCE',
    description: 'Whether cheap models are preferred, and agents that use them.'
  }),
  affinity_groups: t.array(
    t.object({
      name: t.string({ minLength: 1, description: 'Also the name of the agent that is made for the group.' }),
      patterns: t.array(t.string({ minLength: 1 }), { minItems: 1, description: 'Globs, relative to the project.' })
    }),
    {
      default: [],
      description: 'Files that belong together; the first match wins. Default: what the project’s workspaces are.'
    }
  ),
  routing_exploration_epsilon: real(0.05, [0, 1], 'How often a task goes to a random agent, where attention is on.'),
  repo_shard_specialization_weight: real(1.5, [0, 1_000], 'Weight of an agent’s reliability for tasks of a shard.', {
    env: 'REPO_SHARD_SPECIALIZATION_WEIGHT'
  }),
  repo_shard_validation_failure_penalty: real(0.8, [0, 1_000], 'Penalty for each shard of an agent that failed.', {
    env: 'REPO_SHARD_VALIDATION_FAILURE_PENALTY'
  }),
  repo_reduce_conflict_cooldown_penalty: real(2.5, [0, 1_000], 'Penalty after a conflict while shards were joined.', {
    env: 'REPO_REDUCE_CONFLICT_COOLDOWN_PENALTY'
  }),
  repo_reduce_conflict_cooldown_ms: milliseconds(300_000, 0, 'Milliseconds for which that penalty holds.', {
    env: 'REPO_REDUCE_CONFLICT_COOLDOWN_MS'
  })
}
