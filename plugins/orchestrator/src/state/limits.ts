import type { Priority } from '@svc/contracts'
import type { Settings } from '../settings.ts'

/** Settings of the state, as in the section `[orchestrator]`. Read again for every command. */
export type StateSettings = Pick<
  Settings,
  | 'enabled'
  | 'max_agents'
  | 'default_priority'
  | 'queue_limit'
  | 'lock_timeout_ms'
  | 'task_timeout_ms'
  | 'idle_timeout_ms'
  | 'heartbeat_interval_ms'
  | 'stale_threshold_ms'
  | 'max_task_retries'
  | 'auto_continue_enabled'
  | 'continuation_cooldown_ms'
  | 'max_auto_continuations'
  | 'scope_enforcement'
  | 'tier_enforcement'
  | 'trust_gate_relax_enabled'
  | 'trust_gate_relax_min_reliability'
  | 'scaling_enabled'
  | 'account_id'
>

export const PRIORITY_OF: Readonly<Record<StateSettings['default_priority'], Priority>> = {
  background: 'Background',
  normal: 'Normal',
  urgent: 'Urgent'
}

/** Bytes of UTF-8 that a description may have. */
export const MAX_DESCRIPTION_BYTES = 131_072
/** Tasks that ended and are still known. */
export const MAX_ENDED = 1_000
/** Times that a task may be handed over before that counts as a loop. */
export const MAX_HANDOFFS = 5
export const MAX_TURNS = 10
export const MAX_OBSERVATIONS = 20
/** Agents that an explanation of a route names. */
export const SHOWN_CANDIDATES = 10
/** Those that are kept with a task that has left its queue. */
export const KEPT_CANDIDATES = 3
