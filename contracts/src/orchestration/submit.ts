import type { Principal } from '@svc/plugin-sdk'
import type {
  FileAffinity,
  PlacementReason,
  Priority,
  RemoteDelegate,
  TaskCategory,
  TaskStatusKind,
  TestDecision
} from './task.ts'
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

/** Source of a request. A request with an origin passes {@link Orchestrator.admit} before it becomes a task. */
export interface SubmitOrigin {
  /** Name of the tool or method. */
  readonly surface: string
  readonly principal: Principal
  /** Allows the plugin `planning` to turn the request into a plan. If absent, the request becomes one task. */
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
  /**
   * `BlockedOnApproval`: waits for a user's approval. `Blocked`: waits for another task. `InProgress`: another machine
   * works on it. An ended status: the task ended while it was being placed on another machine.
   */
  readonly status: TaskStatusKind
  /** Warnings without duplicates. */
  readonly warnings: readonly string[]
  /** Only for a request with an origin. */
  readonly admission?: Admission
  /** Whether the repository's daemon accepted the task instead of this process. */
  readonly remote?: boolean
  /** Only for a goal that became a plan. */
  readonly plan?: {
    readonly strategy: string
    readonly session_id?: string
    readonly shadow_adequacy?: Readonly<Record<string, unknown>>
  }
}

/** Result of the checks on an external request. */
export interface Admission {
  /** The request with its canonical description. */
  readonly request: SubmitRequest
  readonly prompt_canonicalized: boolean
  /** SHA-256 of the original description, in hex. */
  readonly original_prompt_hash: string
  /** Contradictory instructions in the text. */
  readonly warnings: readonly string[]
}

/** Outcome of an attempt to complete a task. */
export interface Completion {
  /** False if a gate sent the task back to its queue. */
  readonly completed: boolean
  /** The gate that failed, and its finding. */
  readonly requeued?: { readonly gate: GateName; readonly reason: string; readonly iteration: number }
}

/** Name of one of the orchestrator's nine gates, or of a contributed one; see {@link CompletionGate}. */
export type GateName = string

export type GateVerdict = 'pass' | 'shadow' | 'requeue' | 'refuse' | 'pass_at_limit' | 'relaxed' | 'skipped'

export interface GateRecord {
  readonly gate: GateName
  readonly verdict: GateVerdict
  /** The finding, as one sentence. */
  readonly detail: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly timestamp_ms: number
}

/** Routing of a task, and its history since. */
export interface TaskExplanation {
  readonly task_id: number
  readonly routing: RoutingExplanation
  readonly placement: PlacementExplanation
  readonly test_decision: { readonly decision: TestDecision; readonly rationale: string }
  /** Gates of the last attempt to complete the task, in order of execution. */
  readonly gates: readonly GateRecord[]
  /** `ingress`, `routed`, `mesh_remote_held`, `outcome` and the steps between; at most 32. */
  readonly trace: readonly { readonly stage: string; readonly timestamp_ms: number; readonly detail: string }[]
}

export interface RoutingExplanation {
  readonly agent_id: number
  /** The rule that chose the agent. */
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
   * Best first. While the task is queued: the ten best, recomputed. Later: the three best at the time when it left its
   * queue. After a restart they are only known if the score chose the agent.
   */
  readonly candidates: readonly {
    readonly agent_id: number
    readonly agent_name: string
    readonly score: number
    /** Each term of the formula, with its points. */
    readonly terms: readonly { readonly term: string; readonly value: number; readonly because: string }[]
  }[]
  readonly placement_reason: string
}

/** Where a task runs or will run, and why. */
export interface PlacementExplanation {
  readonly surface: 'local' | 'remote'
  readonly reason: PlacementReason
  /** One sentence. */
  readonly because: string
  /** Only for a task that another machine works on, or worked on last. */
  readonly delegate?: RemoteDelegate
}
