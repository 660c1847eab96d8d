import { t } from '@svc/plugin-sdk'
import { flag, integer, milliseconds, number } from './declare.ts'

/** Settings for the number of agents, and for rebalancing between them. */
export const scaling = {
  scaling_enabled: flag(false, 'Whether agents are created and retired according to the load.', {
    env: 'SCALING_ENABLED'
  }),
  scaling_threshold: number(5, [0.01, 1_000_000], 'Load per agent above which another agent is created.', {
    env: 'SCALING_THRESHOLD'
  }),
  scaling_lookback_ticks: integer(5, [1, 10_000], 'Seconds of past load that the prediction uses.', {
    env: 'SCALING_LOOKBACK'
  }),
  scaling_profile: t.enum(['conservative', 'balanced', 'aggressive'], {
    default: 'balanced',
    'x-env': 'SVC_ORCHESTRATOR_SCALING_PROFILE',
    description:
      'How readily agents are created (threshold × 1.5, 1, 0.7) and retired (idle time × 0.6, 1, 1.5), by profile.'
  }),
  scaling_cooldown_ms: milliseconds(5_000, 0, 'Minimum milliseconds between two additions of agents.', {
    env: 'SCALING_COOLDOWN_MS'
  }),
  max_spawn_per_tick: integer(5, [1, 10_000], 'Maximum agents created at one time.', {
    env: 'MAX_SPAWN_PER_TICK'
  }),
  urgent_rebalance_threshold: integer(
    3,
    [0, 1_000_000],
    'Urgent tasks of one agent above which tasks are rebalanced; 0 turns it off.',
    {
      env: 'URGENT_REBALANCE_THRESHOLD'
    }
  ),
  idle_retirement_ms: milliseconds(300_000, 0, 'Milliseconds without work after which a dynamic agent is retired.', {
    env: 'IDLE_RETIREMENT_MS'
  }),
  resource_weight: number(0.3, [0, 1_000], 'Weight of the host’s pressure in the load.', { env: 'RESOURCE_WEIGHT' }),
  resource_cpu_multiplier: number(0.7, [0, 1_000], 'Factor of CPU usage in the host’s pressure.', {
    env: 'RESOURCE_CPU_MULT'
  }),
  resource_mem_multiplier: number(0.3, [0, 1_000], 'Factor of memory usage in the host’s pressure.', {
    env: 'RESOURCE_MEM_MULT'
  }),
  resource_exponent: number(1, [0.01, 100], 'Exponent of the host’s pressure.', { env: 'RESOURCE_EXPONENT' })
}
