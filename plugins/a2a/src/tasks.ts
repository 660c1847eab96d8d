import {
  type Orchestrator,
  processLabel,
  type RepositoryTasks,
  type TaskProcess,
  type TaskStatusKind,
  type TaskView
} from '@svc/contracts'
import type { Handler, OutputOf, Ref } from '@svc/plugin-sdk'
import { agentName } from './agent-name.ts'
import type { a2aTasks } from './operations.ts'

type State = OutputOf<typeof a2aTasks>['tasks'][number]['state']

type ListedTask = TaskView & { readonly process?: TaskProcess }

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

/** `repository`: tasks of all processes; without it, only those of this process are listed. */
export function tasksHandler(
  orchestrator: Pick<Orchestrator, 'tasks' | 'agent'>,
  repository: Ref<RepositoryTasks> | undefined
): Handler<typeof a2aTasks> {
  return async ({ agent_id, state, limit, own }, { signal }) => {
    const filter = agent_id === undefined ? {} : { agent: agent_id }
    const all = await repository?.available?.list({ ...filter, own }, signal)
    const tasks: readonly ListedTask[] = all?.items ?? orchestrator.tasks(filter)
    return {
      tasks: tasks
        .filter(({ status }) => state === undefined || STATE_OF[status.kind] === state)
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
          created_at_ms: task.created_at_ms,
          ...(task.process === undefined ? {} : { holder: processLabel(task.process) })
        }))
    }
  }
}
