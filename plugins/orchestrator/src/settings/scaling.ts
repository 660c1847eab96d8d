import { t } from '@svc/plugin-sdk'
import { flag, integer, milliseconds, real } from './declare.ts'

/** How many agents there are, and when work moves between them. */
export const scaling = {
  scaling_enabled: flag(false, 'Whether agents are made and retired as the load asks for.', { env: 'SCALING_ENABLED' }),
  scaling_threshold: real(5, [0.01, 1_000_000], 'Load of one agent from which on another is made.', {
    env: 'SCALING_THRESHOLD'
  }),
  scaling_lookback_ticks: integer(5, [1, 10_000], 'Seconds of load that the prediction looks back on.', {
    env: 'SCALING_LOOKBACK'
  }),
  scaling_profile: t.enum(['conservative', 'balanced', 'aggressive'], {
    default: 'balanced',
    'x-env': 'SVC_ORCHESTRATOR_SCALING_PROFILE',
    description: 'How soon agents are made (threshold times 1.5, 1, 0.7) and retired (time times 0.6, 1, 1.5).'
  }),
  scaling_cooldown_ms: milliseconds(5_000, 0, 'Milliseconds between two times that agents are made.', {
    env: 'SCALING_COOLDOWN_MS'
  }),
  max_spawn_per_tick: integer(5, [1, 10_000], 'The most agents that are made at one time.', {
    env: 'MAX_SPAWN_PER_TICK'
  }),
  urgent_rebalance_threshold: integer(
    3,
    [0, 1_000_000],
    'Urgent tasks of one agent above which work is moved; 0 for never.',
    {
      env: 'URGENT_REBALANCE_THRESHOLD'
    }
  ),
  idle_retirement_ms: milliseconds(300_000, 0, 'Milliseconds without work after which a dynamic agent is retired.', {
    env: 'IDLE_RETIREMENT_MS'
  }),
  resource_weight: real(0.3, [0, 1_000], 'How much a busy host inflates the load.', { env: 'RESOURCE_WEIGHT' }),
  resource_cpu_multiplier: real(0.7, [0, 1_000], 'Share of its processors in that.', { env: 'RESOURCE_CPU_MULT' }),
  resource_mem_multiplier: real(0.3, [0, 1_000], 'Share of its memory in that.', { env: 'RESOURCE_MEM_MULT' }),
  resource_exponent: real(1, [0.01, 100], 'Exponent of both together.', { env: 'RESOURCE_EXPONENT' })
}
