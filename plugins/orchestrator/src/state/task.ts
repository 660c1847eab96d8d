import type {
  ApprovalTier,
  ExecutionRole,
  FileAffinity,
  PlacementReason,
  Priority,
  TaskCategory,
  TaskStatus,
  TaskTurn,
  TaskView,
  TestDecision
} from '@svc/contracts'
import type { RoutingRule } from './ports.ts'
import { weightOf } from './priority.ts'
import { transitions } from './status.ts'

type Mutable<A> = { -readonly [K in keyof A]?: A[K] | undefined }

/** What few tasks have. It is made where the first of these is set, so that the many cost nothing for it. */
export interface TaskExtra
  extends Mutable<
    Pick<
      TaskView,
      | 'session_id'
      | 'thread_id'
      | 'tenant_id'
      | 'campaign_id'
      | 'benchmark_tier'
      | 'model_preference'
      | 'model_override'
      | 'budget'
      | 'capabilities'
      | 'qgate'
      | 'tool_hints'
      | 'research_hints'
      | 'active_skill'
      | 'harness_spec_json'
      | 'plan'
      | 'execution_policy_json'
      | 'phase'
      | 'remote'
      | 'audit_report'
      | 'debug_iterations'
      | 'stubcheck_iterations'
      | 'qgate_iterations'
      | 'retry_count'
      | 'handoff_count'
      | 'recoveries'
    >
  > {
  transcript?: TaskTurn[]
  observations?: string[]
  /** Name of the agent that was asked for. */
  agent_name?: string | undefined
  required_labels?: readonly string[] | undefined
  correlation_id?: string | undefined
  attachment_manifest?: unknown
  is_detached?: boolean | undefined
  approvals?: readonly string[] | undefined
  approved_by?: string | undefined
  /** When it came back to its queue; absent where it has been there since it was made. */
  queued_at_ms?: number | undefined
}

const NO_TASKS: readonly number[] = Object.freeze([])
const NO_FILES: readonly FileAffinity[] = Object.freeze([])
const COUNTERS = [
  'debug_iterations',
  'stubcheck_iterations',
  'qgate_iterations',
  'retry_count',
  'handoff_count',
  'recoveries'
] as const

export type TaskCounter = (typeof COUNTERS)[number]

/** Everything that a record of a task holds. */
interface TaskRecord {
  readonly id: number
  readonly d: string
  readonly s: TaskStatus
  readonly p: Priority
  readonly a: number
  readonly f?: readonly FileAffinity[]
  readonly w?: readonly number[]
  readonly c: number
  readonly k: TaskCategory
  readonly r: ExecutionRole
  readonly t: readonly [created: number, started: number, ended: number]
  readonly trace: string
  readonly place: PlacementReason
  readonly rule: RoutingRule
  readonly tier: ApprovalTier
  readonly att: number
  readonly test: TestDecision
  readonly x?: TaskExtra
}

/** A task. Times are Unix milliseconds; 0 is never. */
export class Task {
  readonly id: number
  description: string
  status: TaskStatus
  priority: Priority
  agent: number
  files: readonly FileAffinity[] = NO_FILES
  /** Tasks that it was submitted behind. */
  dependsOn: readonly number[] = NO_TASKS
  /** How many of those are not complete. */
  waiting = 0
  complexity: number
  category: TaskCategory
  role: ExecutionRole
  createdAt: number
  startedAt = 0
  endedAt = 0
  traceId: string
  placement: PlacementReason = 'local_queue_default'
  rule: RoutingRule
  tier: ApprovalTier = 'AutoApprove'
  attentionWeight = 0
  test: TestDecision = 'Unknown'
  /** Place in the heap of its queue; -1 outside of one. */
  slot = -1
  extra: TaskExtra | null = null

  constructor(made: {
    readonly id: number
    readonly description: string
    readonly status: TaskStatus
    readonly priority: Priority
    readonly agent: number
    readonly complexity: number
    readonly category: TaskCategory
    readonly role: ExecutionRole
    readonly createdAt: number
    readonly traceId: string
    readonly rule: RoutingRule
  }) {
    this.id = made.id
    this.description = made.description
    this.status = made.status
    this.priority = made.priority
    this.agent = made.agent
    this.complexity = made.complexity
    this.category = made.category
    this.role = made.role
    this.createdAt = made.createdAt
    this.traceId = made.traceId
    this.rule = made.rule
  }

  /** What it adds to the load of its agent, in fiftieths. */
  get weight(): number {
    return weightOf(this.priority, this.complexity)
  }

  /** Since when it has been waiting. */
  get queuedAt(): number {
    return this.extra?.queued_at_ms ?? this.createdAt
  }

  more(): TaskExtra {
    this.extra ??= {}
    return this.extra
  }

  count(counter: TaskCounter): number {
    return this.extra?.[counter] ?? 0
  }

  /** The new count. */
  countUp(counter: TaskCounter): number {
    const next = this.count(counter) + 1
    this.more()[counter] = next
    return next
  }

  /** A copy, which later changes do not reach. */
  view(): TaskView {
    const { extra } = this
    const view: Record<string, unknown> = {
      id: this.id,
      description: this.description,
      status: this.status,
      priority: this.priority,
      agent_id: this.agent,
      files: this.files,
      depends_on: this.dependsOn,
      complexity: this.complexity,
      category: this.category,
      role: this.role,
      created_at_ms: this.createdAt,
      trace_id: this.traceId,
      approval_tier: this.tier,
      attention_weight: this.attentionWeight,
      test_decision: this.test,
      placement_reason: this.placement
    }
    if (this.startedAt !== 0) view.started_at_ms = this.startedAt
    if (this.endedAt !== 0) view.ended_at_ms = this.endedAt
    for (const counter of COUNTERS) view[counter] = extra?.[counter] ?? 0
    if (extra !== null) for (const key of SHOWN) if (extra[key] !== undefined) view[key] = extra[key]
    if (extra?.transcript !== undefined) view.transcript = [...extra.transcript]
    if (extra?.observations !== undefined) view.observations = [...extra.observations]
    return view as unknown as TaskView
  }

  serialise(): string {
    const record: TaskRecord = {
      id: this.id,
      d: this.description,
      s: this.status,
      p: this.priority,
      a: this.agent,
      ...(this.files.length === 0 ? null : { f: this.files }),
      ...(this.dependsOn.length === 0 ? null : { w: this.dependsOn }),
      c: this.complexity,
      k: this.category,
      r: this.role,
      t: [this.createdAt, this.startedAt, this.endedAt],
      trace: this.traceId,
      place: this.placement,
      rule: this.rule,
      tier: this.tier,
      att: this.attentionWeight,
      test: this.test,
      ...(this.extra === null ? null : { x: this.extra })
    }
    return JSON.stringify(record)
  }

  /** Throws what is wrong with a text that is no record. */
  static restore(json: string, shared: { status(read: TaskStatus): TaskStatus }): Task {
    const record = JSON.parse(json) as TaskRecord
    if (
      !Number.isSafeInteger(record.id) ||
      typeof record.d !== 'string' ||
      !Array.isArray(record.t) ||
      !(record.s?.kind in transitions)
    )
      throw new TypeError('it is no record of a task')
    const task = new Task({
      id: record.id,
      description: record.d,
      status: shared.status(record.s),
      priority: record.p,
      agent: record.a,
      complexity: record.c,
      category: record.k,
      role: record.r,
      createdAt: record.t[0],
      traceId: record.trace,
      rule: record.rule
    })
    task.files = record.f ?? NO_FILES
    task.dependsOn = record.w ?? NO_TASKS
    task.startedAt = record.t[1]
    task.endedAt = record.t[2]
    task.placement = record.place
    task.tier = record.tier
    task.attentionWeight = record.att
    task.test = record.test
    task.extra = record.x ?? null
    return task
  }
}

const SHOWN = [
  'session_id',
  'thread_id',
  'tenant_id',
  'campaign_id',
  'benchmark_tier',
  'model_preference',
  'model_override',
  'budget',
  'capabilities',
  'qgate',
  'tool_hints',
  'research_hints',
  'active_skill',
  'harness_spec_json',
  'plan',
  'execution_policy_json',
  'phase',
  'remote',
  'audit_report'
] as const
