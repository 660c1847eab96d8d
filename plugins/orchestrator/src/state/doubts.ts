import type { StateChanges } from './changes.ts'
import { endTask } from './endings.ts'
import { COMPLETED, QUEUED, refuseTransition } from './status.ts'
import { extraFields } from './task.ts'
import type { World } from './world.ts'

/** Parks a task whose result is doubted, until {@link resolveDoubt}. Its files stay locked. */
export function doubt(world: World, changes: StateChanges, id: number, reason: string | null): void {
  const task = world.task(id)
  if (task.status.kind !== 'Queued' && task.status.kind !== 'InProgress') refuseTransition(id, task.status, 'doubted')
  world.move(changes, task, { kind: 'Doubted', reason }, 'the task is doubted')
  task.role = 'verifier'
  const detail = reason === null ? null : { reason }
  changes.event({ type: 'task_doubted', task_id: id, agent_id: task.agent, ...detail })
  world.traces.note(id, 'doubted', reason ?? 'no reason stated', world.deps.now())
}

/** Resolves a doubt. `validated`: the task is queued again. `overruled`: the task is complete. */
export function resolveDoubt(
  world: World,
  changes: StateChanges,
  id: number,
  outcome: 'validated' | 'overruled',
  report: string
): void {
  const task = world.task(id)
  if (task.status.kind !== 'Doubted') refuseTransition(id, task.status, outcome)
  const validated = outcome === 'validated'
  const extra = extraFields(task)
  extra.audit_report = validated ? report : `OVERRULED: ${report}`
  changes.event({ type: 'task_resolved', task_id: id, agent_id: task.agent, validated, report })
  world.traces.note(id, 'resolved', outcome, world.deps.now())
  if (validated) {
    extra.queued_at_ms = world.deps.now()
    task.startedAt = 0
    world.move(changes, task, QUEUED)
    return
  }
  const agent = world.agents.get(task.agent)
  if (agent !== undefined) {
    agent.completed += 1
    changes.touch('agent', agent.id)
  }
  endTask(world, changes, task, COMPLETED, null)
}
