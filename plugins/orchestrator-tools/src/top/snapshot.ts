import type { AgentEvent, Durability } from '@svc/contracts'
import type { ProcessReport } from '../status/orchestrator-status.ts'
import type { Rates } from './rates.ts'

/** Fields of `orch.status` that the view shows. */
export interface StatusReport {
  readonly enabled: boolean
  readonly stopped: boolean
  readonly durability: Durability
  readonly outbox: { readonly pending: number; readonly oldest_ms: number | null; readonly failing: string | null }
  readonly total_queued: number
  readonly total_in_progress: number
  readonly total_blocked: number
  readonly total_blocked_on_approval: number
  readonly total_doubted: number
  readonly total_completed: number
  readonly total_failed: number
  readonly total_cancelled: number
  readonly locked_files: number
  readonly agents: readonly AgentReport[]
  /** Processes of the repository; absent from a daemon of an earlier version. */
  readonly processes?: readonly ProcessReport[]
}

export interface AgentReport {
  readonly id: number
  readonly name: string
  readonly queued: number
  readonly completed: number
  readonly paused: boolean
  readonly current_task: number | null
  readonly activity: string
  readonly owned_files: number
  readonly weighted_load: number
}

/** Orchestrator that a snapshot is from. */
export type Origin =
  | { readonly kind: 'daemon'; readonly address: string; readonly pid: number }
  | { readonly kind: 'in_process' }

/** Snapshot of an orchestrator; one line of `--json`. */
export interface Snapshot {
  readonly at_ms: number
  readonly origin: Origin
  /** Error of the connection; then the other fields are from the last successful request. Null if there is none. */
  readonly lost: string | null
  /** Null before the first response. */
  readonly status: StatusReport | null
  readonly rates: Rates
  /** Last events, newest last. */
  readonly events: readonly AgentEvent[]
}
