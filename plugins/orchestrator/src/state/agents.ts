import {
  type AgentActivity,
  agentLabel,
  type CapabilityHints,
  orchestrationErrors,
  type SpawnRequest,
  type TaskView
} from '@svc/contracts'
import { Agent } from './agent.ts'
import type { StateChanges } from './changes.ts'
import { endTask } from './endings.ts'
import { renewLocks } from './files.ts'
import { CANCELLED, hasEnded } from './status.ts'
import { taskView } from './task.ts'
import type { World } from './world.ts'

/** An agent to create; its id is already assigned. */
export interface NewAgent {
  readonly id: number
  readonly name: string
  readonly dynamic: boolean
  readonly reason: string
  readonly parent?: number | undefined
  readonly source_task_id?: number | undefined
  readonly capabilities?: CapabilityHints | undefined
}

/** Throws `ORC_MAX_AGENTS` at the agent limit. */
export function assertAgentsLeft(world: World): void {
  const { max_agents } = world.deps.settings()
  if (world.agents.size < max_agents) return
  throw orchestrationErrors.create('ORC_MAX_AGENTS', `Maximum agents (${max_agents}) reached`, {
    hint: 'retire an agent, or raise [orchestrator] max_agents'
  })
}

/** Creates an agent. Throws `ORC_PARENT_NOT_FOUND` and `ORC_MAX_AGENTS`. */
export function spawn(world: World, changes: StateChanges, request: SpawnRequest): Agent {
  const { name, dynamic = false, parent_agent_id: parent, source_task_id, reason, capabilities } = request
  if (parent !== undefined && !world.agents.has(parent))
    throw orchestrationErrors.create(
      'ORC_PARENT_NOT_FOUND',
      `Delegation parent agent ${agentLabel(parent)} not found; no agent was created`,
      { hint: 'svc orch agents lists the existing agents' }
    )
  assertAgentsLeft(world)
  const spawnReason = reason ?? (dynamic ? 'dynamic_spawn' : 'spawn')
  const id = world.deps.ids.agent()
  return spawnAs(world, changes, { id, name, dynamic, reason: spawnReason, parent, source_task_id, capabilities })
}

/** Creates an agent after all checks of {@link spawn}. */
export function spawnAs(world: World, changes: StateChanges, made: NewAgent): Agent {
  const { id, name, dynamic, reason, parent, source_task_id, capabilities } = made
  const now = world.deps.now()
  const agent = new Agent({
    id,
    name,
    dynamic,
    capabilities: world.deps.capabilities(capabilities),
    spawned: { at_ms: now, reason, ...(source_task_id === undefined ? null : { source_task_id }) },
    now
  })
  if (parent !== undefined) agent.parent = parent
  admit(world, agent)
  changes.touch('agent', id)
  changes.event({ type: 'agent_spawned', agent_id: id, name })
  if (parent === undefined) return agent
  if (source_task_id !== undefined) {
    changes.event({
      type: 'task_delegated',
      parent_agent_id: parent,
      child_agent_id: id,
      task_id: source_task_id,
      reason
    })
  }
  changes.lineage.push({
    kind: 'task_delegated',
    agent_id: id,
    ...(source_task_id === undefined ? null : { task_id: source_task_id }),
    payload: { reason, is_dynamic: dynamic, parent_agent_id: parent }
  })
  return agent
}

/** Adds an agent to the state and to the router. */
export function admit(world: World, agent: Agent): void {
  world.agents.set(agent.id, agent)
  const { id, name, dynamic, paused, capabilities, weightedLoad } = agent
  world.router.agentAdded({ id, name, dynamic, paused, capabilities, weighted_load: weightedLoad })
}

/**
 * Removes an agent with all its state, and cancels its tasks, also those on other machines. Returns their views from before, so that the caller can
 * submit them again. Tasks in progress come first, with the status `Queued`.
 */
export function retire(world: World, changes: StateChanges, id: number): readonly TaskView[] {
  const agent = world.agent(id)
  const tasks = agent.tasks()
  const left = tasks.map((task): TaskView => {
    const { remote: _ended, ...view } = taskView(task)
    return view.status.kind === 'InProgress' ? { ...view, status: { kind: 'Queued' } } : view
  })
  for (const task of tasks) {
    // Cancelling a task also ends the tasks that depend on it.
    if (!hasEnded(task.status.kind)) endTask(world, changes, task, CANCELLED, `${agentLabel(id)} was retired`)
  }
  for (const path of world.files.filesOf(id)) {
    world.files.release(path)
    changes.touch('file_owner', path)
  }
  for (const [group, owner] of world.groupAgents) {
    if (owner !== id) continue
    world.groupAgents.delete(group)
    changes.touch('group_agent', group)
  }
  for (const child of world.agents.values()) {
    if (child.parent !== id) continue
    child.parent = null
    changes.touch('agent', child.id)
  }
  world.agents.delete(id)
  world.router.agentRemoved(id)
  world.deps.trust.forget(id)
  world.deps.budgets.forget(id)
  changes.touch('agent', id)
  changes.touch('trust', id)
  changes.touch('budget', `agent:${id}`)
  changes.event({ type: 'agent_retired', agent_id: id })
  return left
}

export function setPaused(world: World, changes: StateChanges, id: number, paused: boolean): void {
  const agent = world.agent(id)
  if (agent.paused === paused) return
  agent.paused = paused
  world.router.pausedChanged(id, paused)
  changes.touch('agent', id)
  changes.event({ type: 'operating_mode_changed', agent_id: id, mode: paused ? 'paused' : 'running' })
  if (!paused && agent.queue.size > 0) world.deps.observer.runnable(id)
}

/** Cancels an agent's queued tasks. Returns their number. */
export function drain(world: World, changes: StateChanges, id: number): number {
  const agent = world.agent(id)
  const queued = agent.tasks().filter(task => task.status.kind === 'Queued')
  for (const task of queued) endTask(world, changes, task, CANCELLED, `${agentLabel(id)} was drained`)
  return queued.length
}

export function bindSession(world: World, changes: StateChanges, id: number, session: string): void {
  const agent = world.agent(id)
  if (agent.session === session) return
  agent.session = session
  changes.touch('agent', id)
  changes.event({ type: 'session_created', agent_id: id, session_id: session })
}

/** Records a heartbeat of an agent's worker. It is not persisted. */
export function heartbeat(world: World, changes: StateChanges, id: number, activity: AgentActivity): void {
  const agent = world.agent(id)
  agent.heardAt = world.deps.now()
  agent.isAttended = true
  agent.staleness = 'fresh'
  renewLocks(world, agent)
  const skill = agent.current?.extra?.active_skill
  const facts = { agent_id: id, activity, ...(skill === undefined ? null : { active_skill: skill }) }
  changes.event({ type: 'agent_heartbeat', ...facts })
  if (agent.activity === activity) return
  agent.activity = activity
  changes.event({ type: 'activity_changed', ...facts })
}
