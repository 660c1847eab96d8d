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
import { type Reasons, type ReasonsRecord, reasonsRecord, restoredReasons } from './reasons.ts'
import { transitions } from './status.ts'

type Mutable<A> = { -readonly [K in keyof A]?: A[K] | undefined }

/** Rare fields of a task, allocated with the first of them to save memory. */
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
  /** Name of the requested agent. */
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

/** Everything that a record of a task holds. What is as most have it is left out. */
interface TaskRecord {
  readonly id: number
  readonly d: string
  /** Only its kind where there is nothing else. */
  readonly s: TaskStatus | TaskStatus['kind']
  readonly a: number
  readonly t: readonly [created: number, started: number, ended: number]
  readonly trace: string
  p?: Priority
  f?: readonly FileAffinity[]
  w?: readonly number[]
  c?: number
  k?: TaskCategory
  r?: ExecutionRole
  place?: PlacementReason
  rule?: RoutingRule
  tier?: ApprovalTier
  att?: number
  test?: TestDecision
  x?: TaskExtra
  y?: ReasonsRecord
}

const DETAILED: ReadonlySet<TaskStatus['kind']> = new Set(['Failed', 'Blocked', 'Doubted'])

/** Defaults of a record's missing fields. They must never change. */
const USUAL = {
  p: 'Normal',
  c: 5,
  k: 'General',
  r: 'planner',
  place: 'local_queue_default',
  rule: 'least_loaded',
  tier: 'AutoApprove',
  att: 0,
  test: 'Unknown'
} as const

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
  /** Null while it is queued for the first time. */
  reasons: Reasons | null = null

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

  /** Its contribution to the load of its agent, in fiftieths. */
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
    const { status } = this
    const record: TaskRecord = {
      id: this.id,
      d: this.description,
      s: DETAILED.has(status.kind) ? status : status.kind,
      a: this.agent,
      t: [this.createdAt, this.startedAt, this.endedAt],
      trace: this.traceId
    }
    if (this.priority !== USUAL.p) record.p = this.priority
    if (this.files.length > 0) record.f = this.files
    if (this.dependsOn.length > 0) record.w = this.dependsOn
    if (this.complexity !== USUAL.c) record.c = this.complexity
    if (this.category !== USUAL.k) record.k = this.category
    if (this.role !== USUAL.r) record.r = this.role
    if (this.placement !== USUAL.place) record.place = this.placement
    if (this.rule !== USUAL.rule) record.rule = this.rule
    if (this.tier !== USUAL.tier) record.tier = this.tier
    if (this.attentionWeight !== USUAL.att) record.att = this.attentionWeight
    if (this.test !== USUAL.test) record.test = this.test
    if (this.extra !== null) record.x = this.extra
    const reasons = this.reasons === null ? null : reasonsRecord(this.reasons, this.rule)
    if (reasons !== null) record.y = reasons
    return JSON.stringify(record)
  }

  /** Throws what is wrong with a text that is no record. */
  static restore(json: string, shared: { status(read: TaskStatus): TaskStatus }): Task {
    const record = JSON.parse(json) as TaskRecord
    const status = typeof record.s === 'string' ? ({ kind: record.s } as TaskStatus) : record.s
    if (
      !Number.isSafeInteger(record.id) ||
      typeof record.d !== 'string' ||
      !Array.isArray(record.t) ||
      !(status?.kind in transitions)
    )
      throw new TypeError('it is no record of a task')
    const task = new Task({
      id: record.id,
      description: record.d,
      status: shared.status(status),
      priority: record.p ?? USUAL.p,
      agent: record.a,
      complexity: record.c ?? USUAL.c,
      category: record.k ?? USUAL.k,
      role: record.r ?? USUAL.r,
      createdAt: record.t[0],
      traceId: record.trace,
      rule: record.rule ?? USUAL.rule
    })
    task.files = record.f ?? NO_FILES
    task.dependsOn = record.w ?? NO_TASKS
    task.startedAt = record.t[1]
    task.endedAt = record.t[2]
    task.placement = record.place ?? USUAL.place
    task.tier = record.tier ?? USUAL.tier
    task.attentionWeight = record.att ?? USUAL.att
    task.test = record.test ?? USUAL.test
    task.extra = record.x ?? null
    task.reasons = record.y === undefined ? null : restoredReasons(record.y)
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
