import { TaskState } from '@a2a-js/sdk'

const ENDED: ReadonlySet<TaskState> = new Set([
  TaskState.TASK_STATE_COMPLETED,
  TaskState.TASK_STATE_FAILED,
  TaskState.TASK_STATE_CANCELED,
  TaskState.TASK_STATE_REJECTED
])

/** Returns whether a task in this state never changes again. */
export function hasEnded(state: TaskState): boolean {
  return ENDED.has(state)
}

/** Returns whether a task in this state waits for its client. */
export function isInterrupted(state: TaskState): boolean {
  return state === TaskState.TASK_STATE_INPUT_REQUIRED || state === TaskState.TASK_STATE_AUTH_REQUIRED
}
