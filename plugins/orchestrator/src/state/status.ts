import { orchestrationErrors, type TaskStatus, type TaskStatusKind, taskLabel } from '@svc/contracts'

/**
 * Allowed transitions of a task's status. Every change of a status goes through {@link allows}.
 *
 * Three lines are wider than the protocol's table: a queued task can be doubted, and fails when it has been handed over too
 * often; one that is approved and still waits for another becomes `Blocked`; and a doubt that is overruled completes its task.
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

/** A status may always become itself. */
export function allows(from: TaskStatusKind, to: TaskStatusKind): boolean {
  return from === to || transitions[from].includes(to)
}

/** Whether the status is final, except for a requested retry. */
export function hasEnded(kind: TaskStatusKind): boolean {
  return kind === 'Completed' || kind === 'Failed' || kind === 'Cancelled'
}

/** One object for each status without data, so that a hundred thousand tasks share it. */
export const QUEUED: TaskStatus = Object.freeze({ kind: 'Queued' })
export const IN_PROGRESS: TaskStatus = Object.freeze({ kind: 'InProgress' })
export const COMPLETED: TaskStatus = Object.freeze({ kind: 'Completed' })
export const CANCELLED: TaskStatus = Object.freeze({ kind: 'Cancelled' })
export const BLOCKED_ON_APPROVAL: TaskStatus = Object.freeze({ kind: 'BlockedOnApproval' })

/** Throws `ORC_TRANSITION`. */
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
  Queued: 'it waits for its agent; complete it, or cancel it',
  InProgress: 'an agent works on it; wait, or cancel it',
  Blocked: 'it waits for another task; complete that one first, or cancel it',
  BlockedOnApproval: 'it waits for a person; approve it, or cancel it',
  Failed: 'retry it, or submit another',
  Doubted: 'it is in doubt; resolve that first',
  Completed: 'it is done; submit another',
  Cancelled: 'it was taken back; submit another'
}
