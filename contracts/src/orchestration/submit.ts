import type { Principal } from '@svc/plugin-sdk'
import type { FileAffinity, Priority, TaskCategory, TestDecision } from './task.ts'
import type { HintFields, RequestFields } from './task-fields.ts'

/** Requirements and metadata of a task in addition to its description. Everything is optional. */
export interface EnqueueHints extends HintFields {
  readonly task_category?: TaskCategory
}

export interface SubmitRequest extends RequestFields {
  /** 1 to 131,072 bytes of UTF-8. */
  readonly description: string
  readonly files: readonly FileAffinity[]
  readonly priority?: Priority
  readonly depends_on?: readonly number[]
  readonly hints?: EnqueueHints
}

/** Where a request comes from. A request with an origin is admitted before it becomes a task. */
export interface SubmitOrigin {
  /** Name of the tool or method. */
  readonly surface: string
  readonly principal: Principal
  /** Lets the plugin `planning` turn the request into a plan. Absent: it becomes one task. */
  readonly goal?: GoalOptions
  /** Result of {@link Orchestrator.admit} for this request, if the caller has it; the request is not admitted again. */
  readonly admission?: Admission
}

export interface GoalOptions {
  readonly mode: 'auto' | 'direct' | 'force_plan' | 'workflow_only'
  readonly goal_type?: string
  readonly goal_scope?: string
  readonly max_plan_depth?: number
}

export interface Submitted {
  readonly task_id: number
  readonly agent_id: number
  /** `BlockedOnApproval`: it waits for a person. `Blocked`: it waits for another task. */
  readonly status: 'Queued' | 'BlockedOnApproval' | 'Blocked'
  /** Each warning once. */
  readonly warnings: readonly string[]
  /** Only for a request with an origin. */
  readonly admission?: Admission
  /** Whether the daemon of the repository has the task instead of this process. */
  readonly remote?: boolean
  /** Only for a goal that became a plan. */
  readonly plan?: {
    readonly strategy: string
    readonly session_id?: string
    readonly shadow_adequacy?: Readonly<Record<string, unknown>>
  }
}

/** Result of the checks on a request from outside. */
export interface Admission {
  /** With the canonical description. */
  readonly request: SubmitRequest
  readonly prompt_canonicalized: boolean
  /** SHA-256 of the original description, in hex. */
  readonly original_prompt_hash: string
  /** Instructions of the text that contradict each other. */
  readonly warnings: readonly string[]
}

/** Outcome of an attempt to complete a task. */
export interface Completion {
  /** False if a gate sent the task back to its queue. */
  readonly completed: boolean
  /** The gate that refused it, and its finding. */
  readonly requeued?: { readonly gate: GateName; readonly reason: string; readonly iteration: number }
}

/** The nine of the orchestrator, or a contributed one; see {@link CompletionGate}. */
export type GateName = string

export type GateVerdict = 'pass' | 'shadow' | 'requeue' | 'refuse' | 'pass_at_limit' | 'relaxed' | 'skipped'

export interface GateRecord {
  readonly gate: GateName
  readonly verdict: GateVerdict
  /** One sentence: what it found. */
  readonly detail: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly timestamp_ms: number
}

/** Routing of a task, and its history since. */
export interface TaskExplanation {
  readonly task_id: number
  readonly routing: RoutingExplanation
  readonly test_decision: { readonly decision: TestDecision; readonly rationale: string }
  /** In order of execution, of the last attempt to complete it. */
  readonly gates: readonly GateRecord[]
  /** `ingress`, `routed`, `mesh_remote_held`, `outcome` and the steps between; at most 32. */
  readonly trace: readonly { readonly stage: string; readonly timestamp_ms: number; readonly detail: string }[]
}

export interface RoutingExplanation {
  readonly agent_id: number
  /** Which rule decided. */
  readonly rule:
    | 'target_agent'
    | 'least_loaded'
    | 'highest_score'
    | 'exploration'
    | 'spawn_for_group'
    | 'fallback_single'
    | 'spawn_general'
    | 'spawn_default'
    | 'handoff'
    | 'rebalance'
  /**
   * Best first. While the task is queued: the ten best, recomputed. Afterwards: the three best when it left its queue;
   * after a restart only if points decided.
   */
  readonly candidates: readonly {
    readonly agent_id: number
    readonly agent_name: string
    readonly score: number
    /** Name of each term of the formula and what it adds. */
    readonly terms: readonly { readonly term: string; readonly value: number; readonly because: string }[]
  }[]
  readonly placement_reason: string
}
