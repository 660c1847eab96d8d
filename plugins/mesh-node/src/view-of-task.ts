import {
  type ForeignTask,
  MAX_VIEW_TEXT,
  OPEN_STATUSES,
  type OpenStatus,
  type PublishedView,
  type TaskProcess,
  type TaskStatus,
  type TaskView,
  taskCounters,
  type ViewTask
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'

/** Returns an open task as it is published; null for a task that has ended. */
export function viewTaskOf(task: TaskView): ViewTask | null {
  const { kind } = task.status
  if (!isOpen(kind)) return null
  return {
    task_id: task.id,
    agent_id: task.agent_id,
    description: shortened(task.description),
    status: kind,
    ...(task.status.kind === 'Blocked' ? { blocked_on: task.status.on } : null),
    ...(task.status.kind === 'Doubted' && task.status.reason !== null
      ? { reason: shortened(task.status.reason) }
      : null),
    priority: task.priority,
    category: task.category,
    role: task.role,
    complexity: task.complexity,
    ...defined({ session_id: task.session_id }),
    trace_id: task.trace_id,
    placement_reason: task.placement_reason,
    created_at_ms: task.created_at_ms,
    ...defined({ started_at_ms: task.started_at_ms })
  }
}

function isOpen(kind: string): kind is OpenStatus {
  return OPEN_STATUSES.includes(kind as OpenStatus)
}

/** Returns a published task with its process. What is not published has its least value. */
export function foreignTaskOf(task: ViewTask, process: TaskProcess): ForeignTask {
  const { task_id, blocked_on, reason, status, ...fields } = task
  const counters = Object.fromEntries(taskCounters.map(name => [name, 0])) as Record<
    (typeof taskCounters)[number],
    number
  >
  return {
    ...counters,
    ...(fields as Pick<TaskView, 'priority' | 'category' | 'role' | 'placement_reason'>),
    agent_id: task.agent_id,
    description: task.description,
    complexity: task.complexity,
    trace_id: task.trace_id,
    created_at_ms: task.created_at_ms,
    id: task_id,
    status: statusOf(task),
    files: [],
    depends_on: [],
    process
  }
}

export function processOf({ host, pid }: Pick<PublishedView, 'host' | 'pid'>): TaskProcess {
  return { host, pid, seat: null, alive: true, own: false }
}

function statusOf({ status, blocked_on = 0, reason }: ViewTask): TaskStatus {
  if (status === 'Blocked') return { kind: status, on: blocked_on }
  if (status === 'Doubted') return { kind: status, reason: reason ?? null }
  return { kind: status }
}

function shortened(text: string): string {
  return text.length <= MAX_VIEW_TEXT ? text : `${text.slice(0, MAX_VIEW_TEXT - 1)}…`
}
