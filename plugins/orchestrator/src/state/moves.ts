import { agentLabel, type Handoff, type HandoffOutcome, orchestrationErrors, taskLabel } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { Agent } from './agent.ts'
import { admit, assertAgentsLeft, spawn, spawnAs } from './agents.ts'
import type { StateChanges } from './changes.ts'
import { endTask, requeue } from './endings.ts'
import { dropLock, moveFiles, own, releaseFiles, repositoryPath } from './files.ts'
import { assertHandoff } from './handoff-rules.ts'
import { describeHold, heldTaskOf } from './holds.ts'
import { MAX_HANDOFFS } from './limits.ts'
import type { AgentLoad, MovableTask } from './ports.ts'
import { hasEnded, refuseTransition } from './status.ts'
import { countUp, type Task, taskWeight } from './task.ts'
import { routeAgain } from './task-request.ts'
import type { World } from './world.ts'

/** Moves a task with its files to another agent. */
export function moveTask(world: World, changes: StateChanges, task: Task, to: Agent, because: string): void {
  releaseFiles(world, changes, task)
  world.reassign(changes, task, to, because)
  moveFiles(world, changes, task, to.id)
}

/** Returns a new agent for a task whose agent has left; creates one if the router decides so. */
export function rehome(world: World, changes: StateChanges, task: Task): Agent {
  // The name is dropped, since the agent requested by name has left.
  const decision = world.router.route({ ...routeAgain(task), agent_name: undefined })
  let agent: Agent
  if (decision.kind === 'agent') agent = world.agent(decision.agent)
  else {
    assertAgentsLeft(world)
    const { name, dynamic, reason } = decision
    agent = spawnAs(world, changes, { id: world.deps.ids.agent(), name, dynamic, reason })
  }
  task.rule = decision.rule
  return agent
}

/**
 * Moves all tasks of a leaving agent to suitable agents. Returns false without any change if there is no other agent, or
 * while another machine works on one of the tasks.
 */
export function evacuate(world: World, changes: StateChanges, agent: Agent): boolean {
  const tasks = agent.tasks()
  if (tasks.length > 0 && world.agents.size < 2) return false
  if (heldTaskOf(world, agent) !== null) return false
  world.router.agentRemoved(agent.id)
  try {
    for (const task of tasks) {
      moveTask(world, changes, task, rehome(world, changes, task), `${agentLabel(agent.id)} has left`)
      world.traces.note(task.id, 'rerouted', `${agentLabel(agent.id)} has left`, world.deps.now())
    }
  } catch (error) {
    admit(world, agent)
    throw error
  }
  return true
}

/** Moves queued tasks from overloaded agents to others. Returns the number of moved tasks. */
export function rebalance(world: World, changes: StateChanges): number {
  const moves = world.deps.planRebalance({
    agents: agentLoads(world),
    queuedOf: agent => movable(world, agent),
    writer: path => world.locks.writer(path)
  })
  let moved = 0
  for (const { task: id, from, to } of moves) {
    const task = world.tasks.get(id)
    const target = world.agents.get(to)
    if (task?.agent !== from || target === undefined || task.status.kind !== 'Queued') continue
    moveTask(world, changes, task, target, '')
    task.rule = 'rebalance'
    world.traces.note(id, 'rebalanced', `${agentLabel(from)} to ${agentLabel(to)}`, world.deps.now())
    moved += 1
  }
  return moved
}

function* movable(world: World, id: number): Iterable<MovableTask> {
  const agent = world.agents.get(id)
  if (agent === undefined) return
  for (const task of agent.queue.leastUrgent()) {
    yield {
      id: task.id,
      agent: id,
      priority: task.priority,
      weight: taskWeight(task) / 50,
      files: task.files,
      capabilities: task.extra?.capabilities
    }
  }
}

/** Returns the loads of all agents, for the scaler and the rebalancer. */
export function agentLoads(world: World): readonly AgentLoad[] {
  return Array.from(world.agents.values(), agent => ({
    id: agent.id,
    dynamic: agent.dynamic,
    paused: agent.paused,
    capabilities: agent.capabilities,
    weighted_load: agent.weightedLoad,
    queued: agent.queue.size,
    urgent: agent.queue.sizeOf('Urgent'),
    idle_since_ms: agent.hasWork || agent.parked.size > 0 ? null : agent.idleSince
  }))
}

/**
 * Hands an agent's tasks and files over to another agent; creates one if none is named. A task that was handed over too
 * often fails. Throws `ORC_HANDOFF_STALE` and `ORC_HANDOFF_INVALID`.
 */
export function handoff(world: World, changes: StateChanges, payload: Handoff): HandoffOutcome {
  const from = world.agent(payload.from_agent)
  const pending = (payload.pending_tasks ?? []).map(id => pendingTask(world, id, from))
  const files = (payload.owned_files ?? []).map(repositoryPath)
  assertNotHeld(world, files, from)
  try {
    assertHandoff(payload, world.deps.now())
  } catch (error) {
    const reason = errorMessage(error)
    changes.event({ type: 'agent_handoff_rejected', from: from.id, reason })
    throw error
  }
  const named = payload.to_agent
  const to =
    named === undefined
      ? spawn(world, changes, {
          name: `${from.name}-handoff`,
          dynamic: true,
          parent_agent_id: from.id,
          reason: 'handoff',
          ...(pending[0] === undefined ? null : { source_task_id: pending[0].id }),
          capabilities: from.capabilities
        })
      : world.agent(named)
  const moved: number[] = []
  for (const task of pending) if (handOver(world, changes, task, to)) moved.push(task.id)
  const movedFiles = files.filter(path => world.files.owner(path) === from.id)
  for (const path of movedFiles) {
    dropLock(world, changes, path, from.id)
    own(world, changes, path, to.id)
  }
  announce(world, changes, payload, to, moved)
  return { to_agent: to.id, moved_tasks: moved, moved_files: movedFiles }
}

function pendingTask(world: World, id: number, from: Agent): Task {
  const task = world.task(id)
  if (task.agent !== from.id)
    throw orchestrationErrors.create(
      'ORC_HANDOFF_INVALID',
      `Handoff invariant: ${taskLabel(id)} is a task of ${agentLabel(task.agent)}, not of ${agentLabel(from.id)}`,
      { hint: 'name only tasks of the agent that hands over' }
    )
  if (hasEnded(task.status.kind)) refuseTransition(id, task.status, 'handed over')
  if (world.holds.has(id))
    throw orchestrationErrors.create(
      'ORC_HANDOFF_INVALID',
      `Handoff invariant: ${describeHold(task)}, cannot be handed over`,
      { hint: 'wait for its result, or cancel it' }
    )
  return task
}

/** Throws `ORC_HANDOFF_INVALID` if another machine works on a task of the agent with one of the files. */
function assertNotHeld(world: World, files: readonly string[], from: Agent): void {
  if (world.holds.size === 0 || files.length === 0) return
  for (const task of from.working) {
    if (!world.holds.has(task.id)) continue
    const used = task.files.find(({ path }) => files.includes(path))
    if (used === undefined) continue
    throw orchestrationErrors.create(
      'ORC_HANDOFF_INVALID',
      `Handoff invariant: ${used.path} belongs to ${describeHold(task)}`,
      { hint: 'wait for its result, or cancel it' }
    )
  }
}

/** Hands one task over. Returns false if it has been handed over too often. */
function handOver(world: World, changes: StateChanges, task: Task, to: Agent): boolean {
  const count = countUp(task, 'handoff_count')
  if (count > MAX_HANDOFFS) {
    if (task.status.kind !== 'Queued' && task.status.kind !== 'InProgress') return false
    const reason = `possible infinite A2A handoff loop: the task was handed over ${count} times`
    endTask(world, changes, task, { kind: 'Failed', reason }, reason)
    return false
  }
  if (task.status.kind === 'InProgress') requeue(world, changes, task, `handed over to ${agentLabel(to.id)}`)
  moveTask(world, changes, task, to, '')
  task.rule = 'handoff'
  world.traces.note(task.id, 'handed over', agentLabel(to.id), world.deps.now())
  return true
}

function announce(world: World, changes: StateChanges, payload: Handoff, to: Agent, moved: readonly number[]): void {
  const metadata = new Map(payload.metadata ?? [])
  const session = world.agents.get(payload.from_agent)?.session ?? null
  const facts = {
    plan_summary: payload.plan_summary,
    has_context_envelope: metadata.has('context_envelope_json'),
    has_harness_spec: metadata.has('harness_spec_json'),
    ...(session === null ? null : { session_id: session })
  }
  const role = metadata.get('execution_role')
  changes.event({
    type: 'plan_handoff',
    from: payload.from_agent,
    to: to.id,
    ...(role === undefined ? null : { from_role: role }),
    ...facts
  })
  changes.event({ type: 'agent_handoff_accepted', agent_id: to.id, from: payload.from_agent, ...facts })
  changes.lineage.push({
    kind: 'task_delegated',
    agent_id: to.id,
    ...(moved[0] === undefined ? null : { task_id: moved[0] }),
    ...(session === null ? null : { session_id: session }),
    payload: { reason: 'handoff_accept', from_agent: payload.from_agent, tasks: moved }
  })
}
