import type { TaskPhase } from '@svc/contracts'
import type { StateChanges } from './changes.ts'
import { MAX_OBSERVATIONS, MAX_TURNS } from './limits.ts'
import { extraFields } from './task.ts'
import type { World } from './world.ts'

/** Records that a phase of a task has begun. */
export function enterPhase(world: World, changes: StateChanges, id: number, phase: TaskPhase): void {
  const task = world.task(id)
  extraFields(task).phase = phase
  changes.touch('task', id)
  changes.event({ type: 'task_phase_changed', task_id: id, agent_id: task.agent, phase })
}

/** Appends a message to a task's transcript; only the last ones are stored. */
export function addTurn(world: World, changes: StateChanges, id: number, message: string): void {
  const task = world.task(id)
  const agent = world.agents.get(task.agent)
  const extra = extraFields(task)
  const turn = {
    agent_id: task.agent,
    agent_name: agent?.name ?? '',
    message,
    timestamp_ms: world.deps.now()
  }
  extra.transcript = [...(extra.transcript ?? []), turn].slice(-MAX_TURNS)
  changes.touch('task', id)
}

/** Appends an observation to a task; only the last ones are stored. */
export function addObservation(world: World, changes: StateChanges, id: number, note: string): void {
  const task = world.task(id)
  const extra = extraFields(task)
  extra.observations = [...(extra.observations ?? []), note].slice(-MAX_OBSERVATIONS)
  changes.touch('task', id)
  changes.event({ type: 'observation_recorded', agent_id: task.agent, task_id: id, note })
}
