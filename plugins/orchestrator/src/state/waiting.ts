import type { Priority } from '@svc/contracts'
import type { StateChanges } from './changes.ts'
import { blockedOn } from './endings.ts'
import { QUEUED, refuseTransition } from './status.ts'
import { extraFields } from './task.ts'
import type { World } from './world.ts'

/** Approves a waiting task. If its tier is Blocked, the tier becomes Review. */
export function approve(world: World, changes: StateChanges, id: number, by: string): void {
  const task = world.task(id)
  if (task.status.kind !== 'BlockedOnApproval') refuseTransition(id, task.status, 'approved')
  if (task.tier === 'Blocked') task.tier = 'Review'
  const extra = extraFields(task)
  extra.approved_by = by
  extra.queued_at_ms = world.deps.now()
  world.move(changes, task, task.waiting > 0 ? blockedOn(world, task) : QUEUED)
  world.traces.note(id, 'approved', by, world.deps.now())
  changes.event({ type: 'task_approved', task_id: id, agent_id: task.agent })
}

/** Changes the priority of a waiting task. */
export function reorder(world: World, changes: StateChanges, id: number, priority: Priority): void {
  const task = world.task(id)
  const { kind } = task.status
  if (kind !== 'Queued' && kind !== 'Blocked' && kind !== 'BlockedOnApproval')
    refuseTransition(id, task.status, 'reordered')
  if (task.priority === priority) return
  world.replace(changes, task, () => {
    task.priority = priority
  })
  const word = priority.toLowerCase()
  changes.event({ type: 'task_reprioritized', task_id: id, agent_id: task.agent, priority: word })
  world.traces.note(id, 'reordered', word, world.deps.now())
}
