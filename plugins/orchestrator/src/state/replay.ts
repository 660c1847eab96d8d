import { agentLabel } from '@svc/contracts'
import type { StateChanges } from './changes.ts'
import { moveTask } from './moves.ts'
import type { Move } from './ports.ts'
import type { Task } from './task.ts'
import { routeAgain } from './task-request.ts'
import type { World } from './world.ts'

/** Returns the ids of all tasks that could run, by agent. */
export function runnableTasks(world: World): readonly number[] {
  return Array.from(world.agents.values()).flatMap(agent => Array.from(agent.queue.values(), ({ id }) => id))
}

/**
 * Routes queued tasks again, and moves those that another existing agent now suits better. Ids of tasks that are no
 * longer queued are skipped, and so are tasks whose files another agent has locked. No agent is created.
 */
export function replayRoutes(world: World, changes: StateChanges, ids: readonly number[]): readonly Move[] {
  const moves: Move[] = []
  for (const id of ids) {
    const task = world.tasks.get(id)
    if (task === undefined || task.status.kind !== 'Queued' || task.slot === -1) continue
    const to = betterAgent(world, task)
    if (to === null) continue
    const from = task.agent
    moveTask(world, changes, task, to.agent, '')
    task.rule = to.rule
    world.traces.note(id, 'rerouted', `${agentLabel(from)} to ${agentLabel(to.agent.id)}`, world.deps.now())
    moves.push({ task: id, from, to: to.agent.id })
  }
  return moves
}

function betterAgent(world: World, task: Task) {
  const own = world.agents.get(task.agent)
  if (own === undefined) return null
  // Without its own load: otherwise the task would flee from itself.
  const decision = world.withoutLoad(task, () => world.router.route(routeAgain(task)))
  if (decision.kind !== 'agent' || decision.agent === task.agent) return null
  const isFree = task.files.every(({ path, access }) => {
    const writer = access === 'read' ? null : world.locks.writer(path)
    return writer === null || writer === task.agent
  })
  const agent = world.agents.get(decision.agent)
  return !isFree || agent === undefined ? null : { agent, rule: decision.rule }
}
