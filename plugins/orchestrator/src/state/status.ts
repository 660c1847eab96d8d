import { orchestrationErrors, type TaskStatus, type TaskStatusKind, taskLabel } from '@svc/contracts'

/**
 * Allowed transitions of a task's status. Every change of a status is checked by {@link allows}.
 *
 * Three rows allow more than the protocol's table. A queued task can be doubted, and fails after too many handoffs. An
 * approved task that still waits for another becomes `Blocked`. An overruled doubt completes its task.
 */
export const transitions: Readonly<Record<TaskStatusKind, readonly TaskStatusKind[]>> = {
  Queued: ['InProgress', 'Doubted', 'Cancelled', 'Failed'],
  InProgress: ['Completed', 'Failed', 'Cancelled', 'Blocked', 'BlockedOnApproval', 'Doubted', 'Queued'],
  Blocked: ['Queued', 'Cancelled'],
  BlockedOnApproval: ['Queued', 'InProgress', 'Blocked', 'Cancelled'],
  Failed: ['Queued', 'Cancelled'],
  Doubted: ['Queued', 'Completed', 'Cancelled'],
  Completed: [],
  Cancelled: []
}

/** Returns true if a transition is allowed. A status may always stay the same. */
export function allows(from: TaskStatusKind, to: TaskStatusKind): boolean {
  return from === to || transitions[from].includes(to)
}

/** Returns true if a task has ended. Only a failed task can leave this status, by a retry. */
export function hasEnded(kind: TaskStatusKind): boolean {
  return kind === 'Completed' || kind === 'Failed' || kind === 'Cancelled'
}

/** Shared objects for statuses without data, which save memory with many tasks. */
export const QUEUED: TaskStatus = Object.freeze({ kind: 'Queued' })
export const IN_PROGRESS: TaskStatus = Object.freeze({ kind: 'InProgress' })
export const COMPLETED: TaskStatus = Object.freeze({ kind: 'Completed' })
export const CANCELLED: TaskStatus = Object.freeze({ kind: 'Cancelled' })
export const BLOCKED_ON_APPROVAL: TaskStatus = Object.freeze({ kind: 'BlockedOnApproval' })

/** Throws `ORC_TRANSITION` for a task that cannot be `wanted`, for example 'cancelled'. */
export function refuseTransition(task: number, status: TaskStatus, wanted: string): never {
  throw orchestrationErrors.create(
    'ORC_TRANSITION',
    `Task ${taskLabel(task)} is ${status.kind}: it cannot be ${wanted}`,
    {
      hint: HINTS[status.kind]
    }
  )
}

const HINTS: Readonly<Record<TaskStatusKind, string>> = {
  Queued: 'the task waits for its agent; complete or cancel it',
  InProgress: 'an agent works on the task; wait, or cancel it',
  Blocked: 'the task waits for another one; complete that one first, or cancel the task',
  BlockedOnApproval: 'the task waits for an approval; approve or cancel it',
  Failed: 'retry the task, or submit a new one',
  Doubted: 'resolve the doubt first',
  Completed: 'submit a new task',
  Cancelled: 'submit a new task'
}
