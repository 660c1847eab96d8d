import {
  processLabel,
  type RepositoryTask,
  type TaskStatus,
  type TaskStatusKind,
  type TaskView,
  taskLabel
} from '@svc/contracts'
import { defined, type Infer, t } from '@svc/plugin-sdk'

export const TASK_STATES: readonly TaskStatusKind[] = [
  'Queued',
  'InProgress',
  'Blocked',
  'BlockedOnApproval',
  'Doubted',
  'Completed',
  'Failed',
  'Cancelled'
]

/** Fields of a task in a table. Times are Unix milliseconds. */
export const taskRowFields = {
  key: t.string({ description: 'Reference of the task: its id, with the host for a host with another database.' }),
  id: t.integer(),
  task: t.string({ description: 'Label of the task, such as T-0042.' }),
  description: t.string({ description: 'First line of the description, at most 120 characters.' }),
  state: t.enum(TASK_STATES),
  waiting_for: t.optional(
    t.string({ description: 'What the task waits for: approval, review, or the label of another task.' })
  ),
  agent_id: t.integer(),
  agent: t.string({ description: 'Name of the agent.' }),
  process: t.string({ description: 'Process that holds the task, for example 4711 on box.' }),
  own: t.boolean({ description: 'True if the answering process holds the task.' }),
  priority: t.enum(['Urgent', 'Normal', 'Background']),
  position: t.optional(
    t.integer({ description: 'Position in the queue of its agent, from 1; only for the first ten of each queue.' })
  ),
  attempts: t.integer({ description: 'Number of attempts, including returns by a gate; 0 before the first.' }),
  error: t.optional(t.string({ description: 'Why the task failed; at most 200 characters.' })),
  session_id: t.optional(t.string()),
  plan_id: t.optional(t.string({ description: 'Plan that the task is a step of.' })),
  submitted_at_ms: t.integer(),
  started_at_ms: t.optional(t.integer()),
  ended_at_ms: t.optional(t.integer())
}

export const taskRow = t.object(taskRowFields)
export type TaskRow = Infer<typeof taskRow>

const LINE = 120
const ERROR = 200

/** Returns the key of a task's row. */
export function keyOf({ id, process }: Pick<RepositoryTask, 'id' | 'process'>): string {
  return process.own || process.seat !== null ? String(id) : `${id}@${process.host}`
}

/** Returns the row of a task, without its position. */
export function taskRowOf(task: RepositoryTask, agent: string): TaskRow {
  const { id, status, session_id, plan, started_at_ms, ended_at_ms } = task
  return defined({
    key: keyOf(task),
    id,
    task: taskLabel(id),
    description: firstLine(task.description),
    state: status.kind,
    waiting_for: waitingFor(status),
    agent_id: task.agent_id,
    agent,
    process: processLabel(task.process),
    own: task.process.own,
    priority: task.priority,
    attempts: attemptsOf(task),
    error: status.kind === 'Failed' ? short(status.reason, ERROR) : undefined,
    session_id,
    plan_id: plan?.session_id,
    submitted_at_ms: task.created_at_ms,
    started_at_ms,
    ended_at_ms
  }) as TaskRow
}

/** Returns the first line of a description, at most 120 characters. */
export function firstLine(description: string): string {
  return short(description.split('\n', 1)[0] ?? '', LINE)
}

/** Shortens a text to a number of characters. */
export function short(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 1)}…` : text
}

function waitingFor(status: TaskStatus): string | undefined {
  if (status.kind === 'Blocked') return taskLabel(status.on)
  if (status.kind === 'BlockedOnApproval') return 'approval'
  return status.kind === 'Doubted' ? 'review' : undefined
}

function attemptsOf(task: TaskView): number {
  const { debug_iterations, stubcheck_iterations, qgate_iterations, retry_count, recoveries } = task
  const returns = debug_iterations + stubcheck_iterations + qgate_iterations + retry_count + recoveries
  const waits = task.status.kind === 'Queued' || task.status.kind === 'Blocked'
  return returns + (waits || task.started_at_ms === undefined ? 0 : 1)
}

const RANKS: Readonly<Record<TaskRow['priority'], number>> = { Urgent: 0, Normal: 1, Background: 2 }

/** Compares two queued tasks of an agent by the order in which they are served. */
export function byQueueOrder(one: TaskRow, other: TaskRow): number {
  return RANKS[one.priority] - RANKS[other.priority] || one.submitted_at_ms - other.submitted_at_ms || one.id - other.id
}
