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
 * Dependencies of the state. Everything here is synchronous and does no I/O, unless noted otherwise. Tests use small
 * fakes.
 */

/** Monotonic clock in Unix milliseconds: it never goes back, even if the system clock does. */
export type Clock = () => number

/** Source of random numbers in [0, 1). */
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

/** Queries of the router about the state, all in constant time. */
export interface RoutingWorld {
  fileOwner(path: string): number | null
  /** Returns the agent of a group: the one that got the first task routed by it. */
  groupAgent(group: string): number | null
  trust(agent: number): TrustView
  /** Returns the trust in completing tasks, [0, 1]; null before the first outcome. */
  completionTrust(agent: number): number | null
  /** Returns false at the agent limit. */
  canSpawn(): boolean
  now(): number
}

/** Properties of a task that the router uses. */
export type TaskToRoute = RoutingQuestion

export type RoutingRule = RoutingExplanation['rule']

export type RouteDecision =
  | {
      readonly kind: 'agent'
      readonly agent: number
      readonly rule: RoutingRule
      /** Group of the task's files; if it has no agent yet, the chosen one becomes its agent. */
      readonly group: string | null
    }
  | {
      /** A new agent with this name gets the task. */
      readonly kind: 'spawn'
      readonly name: string
      readonly dynamic: boolean
      readonly rule: RoutingRule
      readonly group: string | null
      readonly reason: string
    }

/** Router. It has its own indexes, so that a decision need not examine every agent. */
export interface RouterPort {
  agentAdded(agent: RoutableAgent): void
  agentRemoved(agent: number): void
  loadChanged(agent: number, weightedLoad: number): void
  pausedChanged(agent: number, paused: boolean): void
  /** Records that a shard failed validation (`shard_validate`) or that merging had a conflict (`reduce_conflict`). */
  shardOutcome(agent: number, what: 'shard_validate' | 'reduce_conflict'): void
  /** Records the outcome of a task for its skill or its shard phase (`shard_gen`, …). */
  skillOutcome(agent: number, skill: string, success: boolean): void
  route(task: TaskToRoute): RouteDecision
  /** Returns the candidates for a task, best first. */
  explain(task: TaskToRoute, limit: number): RoutingExplanation['candidates']
}

export interface AgentLoad {
  readonly id: number
  readonly dynamic: boolean
  readonly paused: boolean
  /** Capabilities; if known, a task is not moved to a less fit agent. */
  readonly capabilities?: CapabilityHints
  readonly weighted_load: number
  readonly queued: number
  readonly urgent: number
  /** Time since when the agent has had no work; null while it has work. */
  readonly idle_since_ms: number | null
  /** US dollars per 1,000 tokens of the agent's model, if known. */
  readonly model_cost?: number
}

/** A queued task that may be moved. */
export interface MovableTask {
  readonly id: number
  readonly agent: number
  readonly priority: Priority
  /** Contribution to the load of its agent. */
  readonly weight: number
  readonly files: readonly FileAffinity[]
  readonly capabilities: CapabilityHints | undefined
}

export interface RebalanceWorld {
  readonly agents: readonly AgentLoad[]
  /** Iterates over an agent's queued tasks: lowest priority first, then newest first. */
  queuedOf(agent: number): Iterable<MovableTask>
  /** Returns the holder of a file's write lock; null if there is none. */
  writer(path: string): number | null
}

export interface Move {
  readonly task: number
  readonly from: number
  readonly to: number
}

export type PlanRebalance = (world: RebalanceWorld) => readonly Move[]

export interface ScalingDecision {
  /** Names of dynamic agents to create. */
  readonly spawn: readonly string[]
  /** Dynamic agents to retire. */
  readonly retire: readonly number[]
  readonly rebalanceUrgent: boolean
}

export interface ScalerPort {
  /** Called once per tick. `costCritical`: the budget of some agent is spent. */
  tick(now: number, agents: readonly AgentLoad[], costCritical: boolean): ScalingDecision
  readonly predictedLoad: number
  readonly effectiveThreshold: number
}

// Placement on other machines ----------------------------------------------------------------------------------------

/** Decides where a new task runs. */
export interface PlacementPort {
  /** Returns the name of the first placer that wants a task; null if none does. */
  placerFor(task: TaskView): string | null
  /** Largest GPU memory of one schedulable node in MiB; null if no node is known. */
  readonly maxVramMb: number | null
}

// Policy -------------------------------------------------------------------------------------------------------------

/** Policy state that is stored in records. `restore` is the inverse of `serialise`. */
export interface Ledger {
  serialise(key: string): string | null
  restore(key: string, json: string): void
  /** Returns the keys of all records. */
  keys(): Iterable<string>
}

/**
 * Component with state that is in no record, but survives a reload of the code. Exported state contains only numbers,
 * strings, arrays and maps, since it is passed from one version of the code to another.
 */
export interface Transferable {
  exportState(): unknown
  /** Imports the exported state of another instance. */
  importState(state: unknown): void
}

/** Trust ledger; the keys of its records are agent ids. */
export interface TrustPort extends Ledger {
  of(agent: number): TrustView
  /** Records the outcome of a task: completed or failed. */
  observe(agent: number, success: boolean): TrustView
  override(agent: number, tier: TrustTier | null, score: number | null): TrustView
  /** Returns the number of approvals, and the entropy of the agent's outcomes in bits. */
  approvals(agent: number): { readonly count: number; readonly entropy: number }
  /** Returns the trust in completing tasks, [0, 1]; null before the first outcome. */
  rollup(agent: number): number | null
  forget(agent: number): void
}

/** Budget ledger; the keys of its records are `agent:ID`, `tenant:NAME` and `session:NAME`. */
export interface BudgetPort extends Ledger {
  /**
   * Checks the budgets before a task is submitted, and returns the agent's signal. Throws `ORC_BUDGET_EXCEEDED` if the
   * tenant's or agent's budget is spent or the estimate exceeds it, and `ORC_DOOM_LOOP`.
   */
  admit(agent: number, tenant: string | undefined, estimatedTokens: number): BudgetSignal
  signal(agent: number): BudgetSignal
  /** Records a cost. `keys`: the changed records. */
  record(cost: CostRecord): { readonly signal: BudgetSignal; readonly keys: readonly string[] }
  /** Resets the cost since the last completed task. Returns the keys of the changed records. */
  completed(agent: number): readonly string[]
  forget(agent: number): void
}

/** A task to judge before it is queued. */
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
  /** Reason for the tier, as a clause. */
  readonly because: string
  readonly attentionWeight: number
  readonly test: TestDecision
}

export interface JudgePort {
  judge(task: TaskToJudge, agent: number): Judgement
  /** Decides whether a task must include tests, and why. */
  test(task: Pick<TaskToJudge, 'description' | 'files' | 'complexity' | 'qgate'>): {
    readonly decision: TestDecision
    readonly rationale: string
  }
  /** Returns the canonical description, and warnings for the submitter. Throws `ORC_INJECTION`. */
  screen(description: string): { readonly description: string; readonly warnings: readonly string[] }
  /** Throws `ORC_SCOPE_DENIED` if the quality gate is enforced and there is too little evidence to begin. */
  admitEvidence(task: TaskToJudge): void
}

// Gates --------------------------------------------------------------------------------------------------------------

/** Evidence gathered before the gates run, by gate. Opaque to the state. */
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
      /** Text to append to the description. */
      readonly note: string
      readonly counter: 'debug_iterations' | 'stubcheck_iterations' | 'qgate_iterations'
      readonly records: readonly GateRecord[]
    }
  | { readonly kind: 'refuse'; readonly gate: GateName; readonly error: Error; readonly records: readonly GateRecord[] }

export interface GatePort {
  /**
   * Gathers the evidence that the gates need; null if they need none. The service calls it before the command runs.
   */
  gather(task: TaskView, attestation: Attestation | undefined): Promise<GateEvidence> | null
  run(input: GateInput): GateOutcome
}

// State that outlives the process ------------------------------------------------------------------------------------

/** Source of ids that are unique among the processes of the repository. */
export interface IdSource {
  task(): number
  agent(): number
  /** Returns null if enough ids are available; otherwise resolves when they are. */
  ready(): Promise<void> | null
}

export interface CommitPort {
  /** Resolves when the change is durable and its events are published. */
  commit(changes: StateChanges): Promise<void>
}

/** State that can be stored in records and restored from them. */
export interface Restorable extends RecordSource {
  /**
   * Restores a record. Called in any order, before `recovered` and before any command. Throws if the record is invalid.
   */
  restore(kind: RecordKind, key: string, json: string): void
  /**
   * Called after the last record of a seat. Queues tasks that were in progress again, and releases locks of missing tasks.
   * Returns the changes to commit.
   */
  recovered(): StateChanges
}
