import { TaskState } from '@a2a-js/sdk'
import { type TaskView, taskLabel } from '@svc/contracts'
import { END, type KeyedEvent, type TaskFacts } from '../tasks/event.ts'
import { agentMessage, textArtifact } from '../tasks/messages.ts'
import type { TaskSnapshot } from '../tasks/snapshot.ts'

const RESULT = 'result'
const MAX_RESULT_CHARS = 1_000_000

/** Value of `thread_id` by which the orchestrator's task of a task of the protocol is found again. */
export function threadOf(task: string): string {
  return `a2a:${task}`
}

/**
 * Returns the events that bring a task up to date with the orchestrator's task; none if it is. A task that was working
 * stays working when it is queued again.
 */
export function eventsOf(task: TaskSnapshot, view: TaskView): readonly KeyedEvent[] {
  const facts = factsOf(view)
  switch (view.status.kind) {
    case 'InProgress': {
      if (task.state === TaskState.TASK_STATE_WORKING && task.pendingReplies.length === 0) return []
      const key = `working:${task.inputs}:${task.delegations}`
      return [{ key, event: { type: 'status', state: TaskState.TASK_STATE_WORKING, message: null, facts } }]
    }
    case 'Doubted': {
      if (task.state === TaskState.TASK_STATE_INPUT_REQUIRED || task.pendingReplies.length > 0) return []
      const key = `input:${task.inputs + 1}`
      const message = agentMessage(task, key, view.status.reason ?? 'The result of the task is in doubt.')
      return [{ key, event: { type: 'status', state: TaskState.TASK_STATE_INPUT_REQUIRED, message, facts } }]
    }
    case 'Completed': {
      const artifact = textArtifact(RESULT, 'Result', resultOf(view))
      return [
        { key: RESULT, event: { type: 'artifact', artifact } },
        { key: END, event: { type: 'status', state: TaskState.TASK_STATE_COMPLETED, message: null, facts } }
      ]
    }
    case 'Failed':
      return [endedBy(task, TaskState.TASK_STATE_FAILED, view.status.reason, facts)]
    case 'Cancelled':
      return [endedBy(task, TaskState.TASK_STATE_CANCELED, 'The task was cancelled or expired.', facts)]
    // Queued: submitted, or still working. Blocked tasks wait for something that is not the client's.
    case 'Queued':
    case 'Blocked':
    case 'BlockedOnApproval':
      return []
  }
}

/** Returns the event that ends a task with a reason. */
export function endedBy(task: TaskSnapshot, state: TaskState, reason: string, facts: TaskFacts = {}): KeyedEvent {
  const message = agentMessage(task, END, reason)
  return { key: END, event: { type: 'status', state, message, facts } }
}

function factsOf(view: TaskView): TaskFacts {
  const { id, placement_reason, campaign_id, remote } = view
  return {
    task_id: id,
    placement_reason,
    ...(campaign_id === undefined ? null : { campaign_id }),
    ...(remote?.lease_id === undefined ? null : { exec_lease_id: remote.lease_id })
  }
}

/** Returns the last message of the agent, else the summary of the completion, else the report of the audit. */
function resultOf({ id, transcript, completion_summary, audit_report }: TaskView): string {
  const said = transcript?.at(-1)?.message ?? completion_summary ?? audit_report
  return (said ?? `Task ${taskLabel(id)} is complete; it left no summary.`).slice(0, MAX_RESULT_CHARS)
}
