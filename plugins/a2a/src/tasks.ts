import type { Orchestrator, TaskStatusKind } from '@svc/contracts'
import type { Handler, OutputOf } from '@svc/plugin-sdk'
import { agentName } from './agent-name.ts'
import type { a2aTasks } from './operations.ts'

type State = OutputOf<typeof a2aTasks>['tasks'][number]['state']

const SHOWN_CHARACTERS = 200

/** State in the A2A protocol, version 1, by task status. A task that needs the user is `input_required`. */
const STATE_OF: Readonly<Record<TaskStatusKind, State>> = {
  Queued: 'submitted',
  Blocked: 'submitted',
  InProgress: 'working',
  Doubted: 'input_required',
  BlockedOnApproval: 'input_required',
  Completed: 'completed',
  Failed: 'failed',
  Cancelled: 'canceled'
}

export function tasksHandler(orchestrator: Pick<Orchestrator, 'tasks' | 'agent'>): Handler<typeof a2aTasks> {
  return ({ agent_id, state, limit }) => {
    const tasks = orchestrator
      .tasks(agent_id === undefined ? {} : { agent: agent_id })
      .filter(({ status }) => state === undefined || STATE_OF[status.kind] === state)
    return {
      tasks: tasks
        .slice(-limit)
        .reverse()
        .map(task => ({
          task_id: task.id,
          context_id: task.thread_id ?? task.session_id ?? null,
          agent_id: task.agent_id,
          agent_name: agentName(orchestrator, task.agent_id),
          state: STATE_OF[task.status.kind],
          status: task.status.kind,
          // Drops half of a surrogate pair at the end.
          description: task.description.slice(0, SHOWN_CHARACTERS).replace(/[\uD800-\uDBFF]$/, ''),
          created_at_ms: task.created_at_ms
        }))
    }
  }
}
