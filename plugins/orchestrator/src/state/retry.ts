import { orchestrationErrors, taskLabel } from '@svc/contracts'
import type { StateChanges } from './changes.ts'
import { requeue } from './endings.ts'
import { rehome } from './moves.ts'
import { refuseTransition } from './status.ts'
import { countOf, countUp } from './task.ts'
import type { World } from './world.ts'

/** Queues a failed task again, for its agent, or for a suitable one if that agent has left. */
export function retry(world: World, changes: StateChanges, id: number): void {
  const task = world.task(id)
  if (task.status.kind !== 'Failed') refuseTransition(id, task.status, 'retried')
  const { max_task_retries } = world.deps.settings()
  if (countOf(task, 'retry_count') >= max_task_retries)
    throw orchestrationErrors.create(
      'ORC_TRANSITION',
      `Task ${taskLabel(id)} is Failed: the limit of ${max_task_retries} retries is reached`,
      { hint: 'submit a new task, or raise [orchestrator] max_task_retries' }
    )
  if (!world.agents.has(task.agent)) task.agent = rehome(world, changes, task).id
  countUp(task, 'retry_count')
  task.endedAt = 0
  world.totals.failed -= 1
  changes.touch('meta', 'totals')
  requeue(world, changes, task, '')
  world.traces.note(id, 'retried', `attempt ${countOf(task, 'retry_count') + 1}`, world.deps.now())
}
