import {
  type ApprovalTier,
  type ExecutionRole,
  type FileAffinity,
  hiddenTaskFields,
  type PlacementReason,
  type Priority,
  type TaskCategory,
  type TaskCounter,
  type TaskFields,
  type TaskStatus,
  type TaskView,
  type TestDecision,
  taskCounters,
  taskFields
} from '@svc/contracts'
import type { RoutingRule } from './ports.ts'
import { weightOf } from './priority.ts'
import { type Reasons, type ReasonsRecord, reasonsRecord, restoredReasons } from './reasons.ts'
import { transitions } from './status.ts'

interface CoreField<A> {
  /** Key in the stored record; it must never change. */
  readonly record: string
  /** Index, if the record has an array under that key. */
  readonly at?: number
  /** Default value, which is not stored; it must never change. */
  readonly default?: A
  readonly '~type'?: A
}

const core = <A>(record: string, facts?: Omit<CoreField<A>, 'record'>): CoreField<A> => ({ record, ...facts })

/**
 * The fields that every task has. The type, the record and the restoration of a task are derived from this table;
 * {@link taskView} maps them to the names of a view. Optional fields are declared in `taskFields`. Times are Unix
 * milliseconds; 0 means never.
 */
const CORE = {
  id: core<number>('id'),
  description: core<string>('d'),
  status: core<TaskStatus>('s'),
  agent: core<number>('a'),
  createdAt: core<number>('t', { at: 0 }),
  startedAt: core<number>('t', { at: 1 }),
  endedAt: core<number>('t', { at: 2 }),
  traceId: core<string>('trace'),
  priority: core<Priority>('p', { default: 'Normal' }),
  files: core<readonly FileAffinity[]>('f', { default: Object.freeze([]) }),
  /** Dependencies when the task was submitted. */
  dependsOn: core<readonly number[]>('w', { default: Object.freeze([]) }),
  complexity: core<number>('c', { default: 5 }),
  category: core<TaskCategory>('k', { default: 'General' }),
  role: core<ExecutionRole>('r', { default: 'planner' }),
  placement: core<PlacementReason>('place', { default: 'local_queue_default' }),
  rule: core<RoutingRule>('rule', { default: 'least_loaded' }),
  tier: core<ApprovalTier>('tier', { default: 'AutoApprove' }),
  attentionWeight: core<number>('att', { default: 0 }),
  test: core<TestDecision>('test', { default: 'Unknown' })
}

type Core = { -readonly [P in keyof typeof CORE]: (typeof CORE)[P] extends CoreField<infer A> ? A : never }

/** Rare fields of a task, allocated when the first one is set, to save memory. */
export type TaskExtra = { -readonly [K in keyof TaskFields]?: TaskFields[K] | undefined } & {
  [K in TaskCounter]?: number
} & {
  approved_by?: string
  /** Time of the last return to the queue; absent if the task never left it. */
  queued_at_ms?: number
}

export interface Task extends Core {
  /** Number of incomplete dependencies. */
  waiting: number
  /** Index in the heap of its queue; -1 if the task is in none. */
  slot: number
  extra: TaskExtra | null
  /** Routing reasons and gate results; null while the task is queued for the first time. */
  reasons: Reasons | null
}

const FIELDS = Object.entries(CORE) as [keyof Core, CoreField<unknown>][]
const HIDDEN: ReadonlySet<string> = new Set(hiddenTaskFields)
const SHOWN = (Object.keys(taskFields) as (keyof TaskFields)[]).filter(key => !HIDDEN.has(key))

/**
 * A task with the default values; new tasks are copies of it. Its fields are first set to objects: if a field started as
 * 0, V8 would change the shape of every copy.
 */
export const DEFAULT_TASK: Readonly<Task> = defaultTask()

function defaultTask(): Task {
  const own = { startedAt: 0, endedAt: 0, waiting: 0, slot: -1, extra: null, reasons: null }
  const task = Object.fromEntries([...Object.keys(CORE), ...Object.keys(own)].map(key => [key, {}]))
  for (const [property, { default: initial = null }] of FIELDS) task[property] = initial as object
  return Object.assign(task, own) as unknown as Task
}

/** Returns a task's contribution to the load of its agent, in fiftieths. */
export function taskWeight({ priority, complexity }: Task): number {
  return weightOf(priority, complexity)
}

/** Returns the time since when a task has been waiting. */
export function queuedAt({ extra, createdAt }: Task): number {
  return extra?.queued_at_ms ?? createdAt
}

export function extraFields(task: Task): TaskExtra {
  task.extra ??= {}
  return task.extra
}

export function countOf({ extra }: Task, counter: TaskCounter): number {
  return extra?.[counter] ?? 0
}

/** Increments a counter. Returns the new count. */
export function countUp(task: Task, counter: TaskCounter): number {
  const next = countOf(task, counter) + 1
  extraFields(task)[counter] = next
  return next
}

/** Returns a view of a task: a copy that later changes do not affect. */
export function taskView(task: Task): TaskView {
  const { startedAt, endedAt, extra } = task
  const view: Mutable<CoreView> & Record<string, unknown> = {
    id: task.id,
    description: task.description,
    status: task.status,
    priority: task.priority,
    agent_id: task.agent,
    files: task.files,
    depends_on: task.dependsOn,
    complexity: task.complexity,
    category: task.category,
    role: task.role,
    created_at_ms: task.createdAt,
    trace_id: task.traceId,
    approval_tier: task.tier,
    attention_weight: task.attentionWeight,
    test_decision: task.test,
    placement_reason: task.placement
  }
  if (startedAt !== 0) view.started_at_ms = startedAt
  if (endedAt !== 0) view.ended_at_ms = endedAt
  for (const counter of taskCounters) view[counter] = extra?.[counter] ?? 0
  if (extra !== null) for (const key of SHOWN) if (extra[key] !== undefined) view[key] = extra[key]
  return view as TaskView & Record<string, unknown>
}

type CoreView = Omit<TaskView, keyof TaskFields | TaskCounter>
type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** Statuses with more data than their kind; the record of any other status contains only the kind. */
const DETAILED: ReadonlySet<TaskStatus['kind']> = new Set(['Failed', 'Blocked', 'Doubted'])

interface ExtraRecord {
  x?: TaskExtra
  y?: ReasonsRecord
}

export function serialiseTask(task: Task): string {
  const record: Record<string, unknown> & ExtraRecord = {}
  for (const [property, { record: key, at, default: initial }] of FIELDS) {
    const value = property === 'status' ? packedStatus(task.status) : task[property]
    if (at !== undefined) ((record[key] ??= []) as unknown[])[at] = value
    else if (!isDefault(value, initial)) record[key] = value
  }
  if (task.extra !== null) record.x = task.extra
  const reasons = task.reasons === null ? null : reasonsRecord(task.reasons, task.rule)
  if (reasons !== null) record.y = reasons
  return JSON.stringify(record)
}

function isDefault(value: unknown, initial: unknown): boolean {
  return value === initial || (Array.isArray(initial) && (value as readonly unknown[]).length === 0)
}

function packedStatus(status: TaskStatus): TaskStatus | TaskStatus['kind'] {
  return DETAILED.has(status.kind) ? status : status.kind
}

/** Restores a task from its record. Throws a `TypeError` if the record is invalid. */
export function restoreTask(json: string, shared: { status(read: TaskStatus): TaskStatus }): Task {
  const record = JSON.parse(json) as Record<string, unknown> & ExtraRecord
  const { s } = record
  const status = typeof s === 'string' ? ({ kind: s } as TaskStatus) : (s as TaskStatus)
  if (
    !Number.isSafeInteger(record.id) ||
    typeof record.d !== 'string' ||
    !Array.isArray(record.t) ||
    !(status?.kind in transitions)
  )
    throw new TypeError('the record is not that of a task')
  const task: Record<string, unknown> & Task = { ...DEFAULT_TASK }
  for (const [property, { record: key, at, default: initial }] of FIELDS) {
    const value = at === undefined ? record[key] : (record[key] as readonly unknown[])[at]
    Object.assign(task, { [property]: value ?? initial })
  }
  task.status = shared.status(status)
  task.extra = record.x ?? null
  task.reasons = record.y === undefined ? null : restoredReasons(record.y)
  return task
}
