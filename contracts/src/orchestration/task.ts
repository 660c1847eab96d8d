/**
 * Priority of a task. Capitalised on the wire and in stored objects, lower-case in tools, parsed case-insensitively.
 */
export type Priority = 'Background' | 'Normal' | 'Urgent'

export type FileAccess = 'read' | 'write'

/** A file that a task reads or writes, relative to the repository, with forward slashes. */
export interface FileAffinity {
  readonly path: string
  readonly access: FileAccess
}

/**
 * Status of a task. On the wire, a status with data is an object with one key: `{"Failed": "reason"}`, `{"Blocked":
 * 7}`, `{"Doubted": "why"}`, see {@link taskStatusToWire}.
 *
 * | from | to |
 * |---|---|
 * | Queued | InProgress, Doubted, Cancelled, Failed (handed over too often) |
 * | InProgress | Completed, Failed, Cancelled, Blocked, BlockedOnApproval, Doubted, Queued |
 * | Blocked | Queued, Cancelled |
 * | BlockedOnApproval | Queued, InProgress, Cancelled |
 * | Failed | Queued, Cancelled |
 * | Doubted | Queued, Completed (overruled), Cancelled |
 */
export type TaskStatus =
  | { readonly kind: 'Queued' | 'InProgress' | 'Completed' | 'Cancelled' | 'BlockedOnApproval' }
  | { readonly kind: 'Failed'; readonly reason: string }
  | { readonly kind: 'Blocked'; readonly on: number }
  | { readonly kind: 'Doubted'; readonly reason: string | null }

export type TaskStatusKind = TaskStatus['kind']

export type TaskStatusWire =
  | TaskStatusKind
  | { readonly Failed: string }
  | { readonly Blocked: number }
  | { readonly Doubted: string }

export function taskStatusToWire(status: TaskStatus): TaskStatusWire {
  if (status.kind === 'Failed') return { Failed: status.reason }
  if (status.kind === 'Blocked') return { Blocked: status.on }
  if (status.kind === 'Doubted' && status.reason !== null) return { Doubted: status.reason }
  return status.kind
}

export type ExecutionRole = 'planner' | 'builder' | 'verifier' | 'reproducer' | 'researcher'
export type TaskPhase = 'inspect' | 'localize' | 'hypothesize' | 'act' | 'verify' | 'decide'
export type ApprovalTier = 'AutoApprove' | 'Confirm' | 'Review' | 'Blocked'
export type TestDecision = 'Required' | 'Deferred' | 'Skip' | 'Optional' | 'Unknown'
export type TaskCategory =
  | 'General'
  | 'CodeGen'
  | 'Testing'
  | 'Debugging'
  | 'TypeChecking'
  | 'Research'
  | 'Parsing'
  | 'Review'
  | 'Ars'
  | 'Planning'
  | 'Visus'
  | 'InterAgent'
  | 'ToolOrchestration'

/** Evidence for the quality gate; see the formulas in the orchestrator's README. Ratios are in [0, 1]. */
export interface QgateContext {
  readonly required_citations?: number
  readonly evidence_count?: number
  readonly citation_coverage?: number
  /** Number of contradictory pieces of evidence. */
  readonly contradiction_hints?: number
  readonly source_diversity?: number
  readonly evidence_quality?: number
  readonly retrieval_tier?: string
  readonly verification_performed?: boolean
  readonly factual_mode?: boolean
  readonly evidence_shape?: 'contradictory' | 'empty' | 'narrow' | 'broad'
  readonly fatigued?: boolean
  readonly fabricated_receipts?: boolean
  readonly force_research?: boolean
  readonly workflow?: string
}

/** Claims about a completed task; the gates compare them with their findings. */
export interface Attestation {
  readonly completion_summary?: string
  readonly checks_passed?: readonly string[]
  readonly evidence_citations?: readonly string[]
  readonly artifact_paths?: readonly string[]
  readonly declared_non_placeholder?: boolean
  readonly force_risky?: boolean
  readonly force_risky_reason?: string
  readonly observation_summary?: string
}

/**
 * The other machine that works on a task. While the task is in progress, no local worker gets it. After its end, the
 * machine whose result was used.
 */
export interface RemoteDelegate {
  /** Names this hold: `orch-remote-TASK-MILLISECONDS`. Results with another key are stale. */
  readonly idempotency_key: string
  /** Name of the `RemotePlacer`. */
  readonly placer: string
  /** False until the placer has placed the task. Unconfirmed tasks are queued locally after a restart. */
  readonly confirmed: boolean
  /** Execution lease, as a decimal number. */
  readonly lease_id?: string
  /** Node that holds the lease. */
  readonly claimer_node_id?: string
  /** Node that executes the task, if known. */
  readonly mesh_node_id?: string
  /** Mailbox message that carries the task. */
  readonly message_id?: number
}

/** Source of a task that this machine runs for another one. Such a task is never placed on a third machine. */
export interface RemoteOrigin {
  /** Key of the hold at the task's owner. */
  readonly idempotency_key: string
  /** Id of the task at its owner. */
  readonly task_id?: number
  /** Repository of the task at its owner. */
  readonly repository_id?: string
  /** Node that delegated the task, if it names itself. */
  readonly submitter_node_id?: string
}

export type PlacementReason =
  | 'local_queue_default'
  | 'mesh_remote_lease_hold'
  | 'local_queue_fallback_after_remote_relay_error'
  | 'local_queue_fallback_insufficient_vram'

export interface TaskTurn {
  readonly agent_id: number
  readonly agent_name: string
  readonly message: string
  readonly timestamp_ms: number
}
