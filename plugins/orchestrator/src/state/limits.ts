import type { Priority } from '@svc/contracts'
import type { Settings } from '../settings.ts'

/** Settings that the state uses, from the section `[orchestrator]`; read for every command. */
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
  | 'mesh_remote_lease_timeout_ms'
>

export const PRIORITY_OF: Readonly<Record<StateSettings['default_priority'], Priority>> = {
  background: 'Background',
  normal: 'Normal',
  urgent: 'Urgent'
}

/** Maximum size of a description in bytes of UTF-8. */
export const MAX_DESCRIPTION_BYTES = 131_072
/** Maximum ended tasks in memory, except for those that others wait for. */
export const MAX_ENDED = 1_000
/** Maximum handoffs of a task; more count as an infinite loop. */
export const MAX_HANDOFFS = 5
/** Maximum characters of the reason why a task is not on another machine. */
export const MAX_PLACEMENT_DETAIL = 240
export const MAX_TURNS = 10
export const MAX_OBSERVATIONS = 20
/** Maximum candidates in an explanation of a queued task. */
export const SHOWN_CANDIDATES = 10
/** Maximum candidates stored with a task that has left its queue. */
export const KEPT_CANDIDATES = 3
/** Maximum characters of a task's completion summary. */
export const MAX_SUMMARY_CHARS = 16_000
