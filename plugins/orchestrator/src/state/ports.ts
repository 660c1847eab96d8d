import type {
  ApprovalTier,
  Attestation,
  BudgetSignal,
  CapabilityHints,
  CostRecord,
  FileAffinity,
  GateName,
  GateRecord,
  Priority,
  RoutingExplanation,
  RoutingQuestion,
  TaskView,
  TestDecision,
  TrustTier,
  TrustView
} from '@svc/contracts'
import type { RecordKind, RecordSource, StateChanges } from './changes.ts'

/**
 * Dependencies of the state. Everything here is synchronous and does no I/O, unless noted otherwise. Tests pass small
 * fakes.
 */

/** Unix milliseconds. Monotonic: if the system's clock goes back, it stands still until that has caught up. */
export type Clock = () => number

/** [0, 1). */
export type Random = () => number

// Routing ------------------------------------------------------------------------------------------------------------

export interface RoutableAgent {
  readonly id: number
  readonly name: string
  readonly dynamic: boolean
  readonly paused: boolean
  readonly capabilities: CapabilityHints
  readonly weighted_load: number
}

/** Queries of the router about the state. All in constant time. */
export interface RoutingWorld {
  fileOwner(path: string): number | null
  /** Agent that a group has; set by the state with the first task that is routed by that group. */
  groupAgent(group: string): number | null
  trust(agent: number): TrustView
  /** Stored trust in completing tasks, [0, 1]; null before the first outcome. */
  completionTrust(agent: number): number | null
  /** False at the agent limit. */
  canSpawn(): boolean
  now(): number
}

/** The parts of a task that decide its agent. */
export type TaskToRoute = RoutingQuestion

export type RoutingRule = RoutingExplanation['rule']

export type RouteDecision =
  | {
      readonly kind: 'agent'
      readonly agent: number
      readonly rule: RoutingRule
      /** Group that the task's files are of; the state makes the agent its default where it has none. */
      readonly group: string | null
    }
  | {
      /** An agent of that name is to be made, and has the task. */
      readonly kind: 'spawn'
      readonly name: string
      readonly dynamic: boolean
      readonly rule: RoutingRule
      readonly group: string | null
      readonly reason: string
    }

/** Keeps separate indexes, so that a decision does not look at every agent. */
export interface RouterPort {
  agentAdded(agent: RoutableAgent): void
  agentRemoved(agent: number): void
  loadChanged(agent: number, weightedLoad: number): void
  pausedChanged(agent: number, paused: boolean): void
  /** A validation of a shard failed (`shard_validate`), or a reduce task met a conflict (`reduce_conflict`). */
  shardOutcome(agent: number, what: 'shard_validate' | 'reduce_conflict'): void
  /** A task that used a skill, or was of a phase of a shard (`shard_gen`, …), was completed or failed. */
  skillOutcome(agent: number, skill: string, success: boolean): void
  route(task: TaskToRoute): RouteDecision
  /** Best first. */
  explain(task: TaskToRoute, limit: number): RoutingExplanation['candidates']
}

export interface AgentLoad {
  readonly id: number
  readonly dynamic: boolean
  readonly paused: boolean
  /** Where known, nothing is moved to an agent that lacks more of what the task requires than the one that has it. */
  readonly capabilities?: CapabilityHints
  readonly weighted_load: number
  readonly queued: number
  readonly urgent: number
  /** Since when it has had nothing to do; null while it has. */
  readonly idle_since_ms: number | null
  /** USD per 1,000 tokens of its model, where known. */
  readonly model_cost?: number
}

/** A queued task that may be moved. */
export interface MovableTask {
  readonly id: number
  readonly agent: number
  readonly priority: Priority
  /** Its contribution to a load. */
  readonly weight: number
  readonly files: readonly FileAffinity[]
  readonly capabilities: CapabilityHints | undefined
}

export interface RebalanceWorld {
  readonly agents: readonly AgentLoad[]
  /** Lowest priority first, and of those the newest first. */
  queuedOf(agent: number): Iterable<MovableTask>
  /** Holder of the write lock; null for none. */
  writer(path: string): number | null
}

export interface Move {
  readonly task: number
  readonly from: number
  readonly to: number
}

export type PlanRebalance = (world: RebalanceWorld) => readonly Move[]

export interface ScalingDecision {
  /** Names of dynamic agents to make. */
  readonly spawn: readonly string[]
  /** Dynamic agents to retire. */
  readonly retire: readonly number[]
  readonly rebalanceUrgent: boolean
}

export interface ScalerPort {
  /** Once a tick. `costCritical`: the budget of some agent is spent. */
  tick(now: number, agents: readonly AgentLoad[], costCritical: boolean): ScalingDecision
  readonly predictedLoad: number
  readonly effectiveThreshold: number
}

// Policy -------------------------------------------------------------------------------------------------------------

/** Parts of a policy that are records of the state: `serialise` and `restore` are inverse. */
export interface Ledger {
  serialise(key: string): string | null
  restore(key: string, json: string): void
  /** Of all its records. */
  keys(): Iterable<string>
}

/**
 * Component with state that no record keeps, but that survives a reload of the code. The exported state consists of numbers,
 * strings, arrays and maps: it crosses from one version of the code to another.
 */
export interface Transferable {
  exportState(): unknown
  /** Exported state of another instance. */
  importState(state: unknown): void
}

/** Keys are ids of agents. */
export interface TrustPort extends Ledger {
  of(agent: number): TrustView
  /** True for a task that was completed, false for one that failed. */
  observe(agent: number, success: boolean): TrustView
  override(agent: number, tier: TrustTier | null, score: number | null): TrustView
  /** Times that work of this agent was let through; how uncertain its outcomes are, in bits. */
  approvals(agent: number): { readonly count: number; readonly entropy: number }
  /** Stored trust in completing tasks, [0, 1]; null before the first outcome. */
  rollup(agent: number): number | null
  forget(agent: number): void
}

/** Keys are `agent:ID`, `tenant:NAME` and `session:NAME`. */
export interface BudgetPort extends Ledger {
  /**
   * Asked before a task is submitted. Throws `ORC_BUDGET_EXCEEDED` (tenant, tokens of the estimate, spent) and `ORC_DOOM_LOOP`.
   * The signal otherwise.
   */
  admit(agent: number, tenant: string | undefined, estimatedTokens: number): BudgetSignal
  signal(agent: number): BudgetSignal
  /** Keys of the records that changed. */
  record(cost: CostRecord): { readonly signal: BudgetSignal; readonly keys: readonly string[] }
  /** A task was completed: the cost counter restarts at zero. Keys of the records that changed. */
  completed(agent: number): readonly string[]
  forget(agent: number): void
}

/** Judgement of a task before it is queued. */
export interface TaskToJudge {
  readonly description: string
  readonly files: readonly FileAffinity[]
  readonly priority: Priority
  readonly complexity: number
  readonly category: TaskView['category']
  readonly approvals: readonly string[]
  readonly qgate: TaskView['qgate']
}

export interface Judgement {
  readonly tier: ApprovalTier
  /** One sentence: the rule and its evidence. */
  readonly because: string
  readonly attentionWeight: number
  readonly test: TestDecision
}

export interface JudgePort {
  judge(task: TaskToJudge, agent: number): Judgement
  /** Whether a task must come with tests, and why. */
  test(task: Pick<TaskToJudge, 'description' | 'files' | 'complexity' | 'qgate'>): {
    readonly decision: TestDecision
    readonly rationale: string
  }
  /** Throws `ORC_INJECTION`. Returns warnings for the submitter, and the text only where it had to be changed. */
  screen(description: string): { readonly description: string; readonly warnings: readonly string[] }
  /** Throws `ORC_SCOPE_DENIED` where the quality gate is enforced and the evidence is too thin to begin. */
  admitEvidence(task: TaskToJudge): void
}

// Gates --------------------------------------------------------------------------------------------------------------

/** Result of the lookups before the gates are asked, by gate. Opaque to the state. */
export type GateEvidence = ReadonlyMap<string, unknown>

export interface GateInput {
  readonly task: TaskView
  readonly attestation: Attestation | undefined
  readonly evidence: GateEvidence | null
  readonly trust: TrustView
  readonly now: number
}

export type GateOutcome =
  | { readonly kind: 'pass'; readonly records: readonly GateRecord[] }
  | {
      readonly kind: 'requeue'
      readonly gate: GateName
      readonly reason: string
      /** Appended to the description. */
      readonly note: string
      readonly counter: 'debug_iterations' | 'stubcheck_iterations' | 'qgate_iterations'
      readonly records: readonly GateRecord[]
    }
  | { readonly kind: 'refuse'; readonly gate: GateName; readonly error: Error; readonly records: readonly GateRecord[] }

export interface GatePort {
  /**
   * Prefetches the data that the gates need. Null at once where they need nothing of the kind. Called by the service,
   * outside of any command.
   */
  gather(task: TaskView, attestation: Attestation | undefined): Promise<GateEvidence> | null
  run(input: GateInput): GateOutcome
}

// State that outlives the process ------------------------------------------------------------------------------------

/** Ids that no other process of the repository takes. */
export interface IdSource {
  task(): number
  agent(): number
  /** Null if the next ids are there; else when they will be. */
  ready(): Promise<void> | null
}

export interface CommitPort {
  /** Resolves when the change is durable, and its events are out. */
  commit(changes: StateChanges): Promise<void>
}

/** The aggregate, for the writer of its records. */
export interface Restorable extends RecordSource {
  /**
   * In any order, before `recovered` and before any command. Throws an error with the problem of an unreadable record.
   */
  restore(kind: RecordKind, key: string, json: string): void
  /**
   * After the last record of a seat: tasks that were in progress are queued again, once each; locks of missing tasks are
   * released. The result contains the changes to commit.
   */
  recovered(): StateChanges
}
