import type { Priority } from '@svc/contracts'

/** Settings of the state, as in the section `[orchestrator]`. Read again for every command. */
export interface StateSettings {
  readonly enabled: boolean
  readonly max_agents: number
  readonly default_priority: 'background' | 'normal' | 'urgent'
  readonly queue_limit: number
  readonly lock_timeout_ms: number
  readonly task_timeout_ms: number
  readonly idle_timeout_ms: number
  readonly heartbeat_interval_ms: number
  readonly stale_threshold_ms: number
  readonly max_task_retries: number
  readonly auto_continue_enabled: boolean
  readonly continuation_cooldown_ms: number
  readonly max_auto_continuations: number
  readonly scope_enforcement: 'strict' | 'warn' | 'disabled'
  readonly tier_enforcement: boolean
  readonly trust_gate_relax_enabled: boolean
  readonly trust_gate_relax_min_reliability: number
  readonly scaling_enabled: boolean
  readonly account_id?: string | undefined
}

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
