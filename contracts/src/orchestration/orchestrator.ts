import { service } from '@svc/plugin-sdk'
import type {
  AgentActivity,
  AgentView,
  Handoff,
  HandoffOutcome,
  LockView,
  RetiredAgent,
  SpawnedAgent,
  SpawnRequest
} from './agent.ts'
import type { Attention } from './attention.ts'
import type { AgentEvent, AgentEventKind } from './events.ts'
import type { Budgets, ExecutionTimes, Trust } from './ledgers.ts'
import type { OrchestratorPolicy } from './policy.ts'
import type { RemoteWork } from './remote.ts'
import type { Admission, Completion, SubmitOrigin, SubmitRequest, Submitted, TaskExplanation } from './submit.ts'
import type { Attestation, Priority, TaskPhase, TaskStatusKind } from './task.ts'
import type { TaskView } from './task-fields.ts'

/** The orchestrator of this process. */
export const orchestrator = service<Orchestrator>('orchestrator@1')

/**
 * If a database is attached (`durability.kind` is `database`), a method that changes state resolves when the change is
 * durable: it survives a killed process. Without a database (`memory`) the method resolves immediately. Changes of one
 * process become durable in the order in which they were made.
 *
 * Errors are `ORC_*`; their messages begin with the stable prefixes of the protocol, for example `Task T-0042 not
 * found`.
 */
export interface Orchestrator {
  readonly repositoryId: string
  readonly durability: Durability
  /** Settings that other plugins obey too; replaced when live settings change. */
  readonly policy: OrchestratorPolicy
  readonly attention: Attention
  readonly budgets: Budgets
  readonly trust: Trust
  readonly executionTimes: ExecutionTimes
  /** Work of this orchestrator's tasks on other machines. */
  readonly remote: RemoteWork

  /**
   * Checks an external request: attention budget and interruption policy if attention is enabled, prompt injection, then
   * the taps of `taskSubmitting`. `submit` does this itself for a request with an origin. Throws
   * `ORC_ATTENTION_EXHAUSTED`, `ORC_HUMAN_REQUIRED` and `ORC_INJECTION`.
   */
  admit(request: SubmitRequest, origin: SubmitOrigin): Promise<Admission>
  /** Submits a task. Without an origin, as for tasks of a plan, only prompt injection is checked. */
  submit(request: SubmitRequest, origin?: SubmitOrigin): Promise<Submitted>
  /**
   * Completes a task if its gates pass; otherwise queues it again, with the findings in its description. Also accepts a
   * queued task that could run, so that an external worker need not claim it first.
   */
  complete(task: number, attestation?: Attestation): Promise<Completion>
  fail(task: number, reason: string): Promise<void>
  cancel(task: number): Promise<void>
  /** Returns a claimed task when its worker stops. The task is queued again, which does not count as a failure. */
  release(task: number, reason: string): Promise<void>
  /** Queues a failed task again. */
  retry(task: number): Promise<void>
  doubt(task: number, reason: string | null): Promise<void>
  /** Resolves a doubt. `validated`: the work continues; `overruled`: the task is complete, with the report. */
  resolveDoubt(task: number, outcome: 'validated' | 'overruled', report: string): Promise<void>
  /** Approves a task that waits for a user's approval. */
  approve(task: number, by: string): Promise<void>
  reorder(task: number, priority: Priority): Promise<void>
  task(task: number): TaskView | null
  /** Returns tasks ordered by id. At most 1,000 ended tasks are kept. */
  tasks(filter?: TaskFilter): readonly TaskView[]
  explain(task: number): TaskExplanation | null

  spawnAgent(request: SpawnRequest): Promise<SpawnedAgent>
  retireAgent(agent: number): Promise<RetiredAgent>
  pauseAgent(agent: number): Promise<void>
  resumeAgent(agent: number): Promise<void>
  /** Drops the agent's queued tasks and returns their number. */
  drainAgent(agent: number): Promise<number>
  heartbeat(agent: number, activity: AgentActivity): void
  bindSession(agent: number, session: string): Promise<void>
  agents(): readonly AgentView[]
  agent(agent: number): AgentView | null
  handoff(handoff: Handoff): Promise<HandoffOutcome>
  rebalance(): Promise<number>
  /**
   * Routes every queued task again, and moves it if another existing agent now suits it better. Tasks in progress, held
   * ones included, stay. Returns the number of moved tasks.
   */
  replayQueuedRoutes(): Promise<number>
  /** Rejects new tasks and starts none until {@link Orchestrator.start}. */
  emergencyStop(reason: string | null): Promise<void>
  start(): Promise<void>

  claimFile(agent: number, path: string): Promise<void>
  transferFile(from: number, to: number, path: string): Promise<void>
  /** Returns the agent that owns a file; null if there is none. */
  fileOwner(path: string): number | null
  /**
   * Returns the path under which a file is locked and owned: without `.`, `..` and symbolic links. Throws
   * `ORC_SCOPE_DENIED` for a path outside the repository.
   */
  repositoryPath(path: string): string
  filesOf(agent: number): readonly string[]
  /** `path`: only locks of this file; symbolic links inside the repository are resolved. */
  locks(path?: string): readonly LockView[]

  /**
   * Claims the next task of an agent for its worker and marks it in progress; null if none can run. The new status
   * becomes durable later, since a restart queues the task again anyway.
   */
  next(agent: number): Promise<TaskView | null>
  /** Resolves when the agent may have a new task since the last call; rejects when `signal` is aborted. */
  wake(agent: number, signal: AbortSignal): Promise<void>
  /** Returns a signal that aborts when the task is no longer in progress here: cancelled, doubted or moved. */
  taskSignal(task: number): AbortSignal
  phase(task: number, phase: TaskPhase): void
  turn(task: number, message: string): void
  observe(task: number, note: string): void

  status(): OrchestratorStatus
  /**
   * Calls the listener for every event from now on, after its change is durable. The listener must not throw. Returns
   * the unsubscribe function.
   */
  subscribe(listener: (event: AgentEvent) => void): () => void
  /**
   * Calls the listener with the records of every durable change: `task/ID`, `agent/ID`, `lock/PATH`, `file_owner/PATH`,
   * `trust/ID`, `budget/KEY` and others, or null if any record may have changed. Covers changes without an event, such
   * as a task that another one unblocked. The listener must return quickly. Returns the unsubscribe function.
   */
  subscribeRecords(listener: (records: ReadonlySet<string> | null) => void): () => void
  /** Returns the last events, at most 1,024, oldest first. */
  recentEvents(limit?: number): readonly AgentEvent[]
  /** Emits an event without a state change. */
  emit(kind: AgentEventKind): void
  /** Adds a lineage row to the next commit; no effect if lineage is off. */
  lineage(row: LineageRow): Promise<void>
}

export type Durability =
  | { readonly kind: 'database'; readonly location: string }
  | { readonly kind: 'memory'; readonly because: string }

export interface TaskFilter {
  readonly agent?: number
  readonly status?: TaskStatusKind
  readonly session?: string
  /** Only tasks with higher ids, for the next page. */
  readonly after?: number
  readonly limit?: number
}

export interface LineageRow {
  readonly kind:
    | 'task_submitted'
    | 'task_completed'
    | 'task_failed'
    | 'task_delegated'
    | 'plan_session_created'
    | 'plan_replan_triggered'
    | 'workflow_handoff_started'
    | 'workflow_handoff_completed'
    | 'reconstruction_campaign_started'
    | 'reconstruction_campaign_scored'
  readonly task_id?: number
  readonly agent_id?: number
  readonly session_id?: string
  readonly workflow_id?: string
  readonly plan_session_id?: string
  readonly plan_node_id?: string
  readonly payload?: Readonly<Record<string, unknown>>
}

export interface OrchestratorStatus {
  readonly enabled: boolean
  readonly stopped: boolean
  readonly durability: Durability
  readonly agent_count: number
  readonly total_queued: number
  readonly total_in_progress: number
  readonly total_completed: number
  readonly total_failed: number
  readonly total_cancelled: number
  readonly total_doubted: number
  readonly total_blocked: number
  readonly total_blocked_on_approval: number
  readonly locked_files: number
  readonly total_contention: number
  readonly total_weighted_load: number
  readonly predicted_load: number
  /** Number of dynamic agents that may still be spawned. */
  readonly reserved_agents: number
  readonly dynamic_agents: number
  readonly max_handoff_count: number
  readonly scaling_profile: 'conservative' | 'balanced' | 'aggressive'
  readonly effective_scale_up_threshold: number
  /** Changes that are not durable yet. */
  readonly outbox: { readonly pending: number; readonly oldest_ms: number | null; readonly failing: string | null }
  readonly agents: readonly AgentView[]
}
