import type { TaskStatus } from '@svc/contracts'
import { Agent } from './agent.ts'
import { admit } from './agents.ts'
import { type RecordKind, StateChanges } from './changes.ts'
import { blockedOn } from './endings.ts'
import { dropLock } from './files.ts'
import { markFallback } from './holds.ts'
import type { Restorable } from './ports.ts'
import { BLOCKED_ON_APPROVAL, CANCELLED, COMPLETED, hasEnded, IN_PROGRESS, QUEUED } from './status.ts'
import { countOf, countUp, extraFields, restoreTask, serialiseTask, type Task } from './task.ts'
import type { Totals, World } from './world.ts'

/**
 * Converts the state to records and back. Records of an ended process may also arrive while the state is in use; the
 * agents of their tasks may not exist here.
 */
export class Records implements Restorable {
  readonly #world: World
  /** Restored tasks that are not in the state yet, since the records of their agents may come later. */
  #tasks: Task[] = []
  #agents: Agent[] = []

  constructor(world: World) {
    this.#world = world
  }

  serialise(kind: RecordKind, key: string): string | null {
    const world = this.#world
    switch (kind) {
      case 'task':
        return serialisedTask(world, Number(key))
      case 'agent':
        return world.agents.get(Number(key))?.serialise() ?? null
      case 'lock':
        return world.locks.serialise(key)
      case 'file_owner':
        return numberOrNull(world.files.owner(key))
      case 'group_agent':
        return numberOrNull(world.groupAgents.get(key) ?? null)
      case 'trust':
        return world.deps.trust.serialise(key)
      case 'budget':
        return world.deps.budgets.serialise(key)
      case 'attention':
        return world.deps.attention.serialise(key)
      case 'meta':
        return this.#meta(key)
    }
  }

  restore(kind: RecordKind, key: string, json: string): void {
    const world = this.#world
    switch (kind) {
      case 'task':
        this.#tasks.push(restoreTask(json, shared))
        return
      case 'agent':
        this.#agents.push(Agent.restore(json, world.deps.now()))
        return
      case 'lock':
        world.locks.restore(key, json)
        return
      case 'file_owner':
        if (world.files.owner(key) === null) world.files.assign(key, JSON.parse(json) as number)
        return
      case 'group_agent':
        if (!world.groupAgents.has(key)) world.groupAgents.set(key, JSON.parse(json) as number)
        return
      case 'trust':
        world.deps.trust.restore(key, json)
        world.rated.add(Number(key))
        return
      case 'budget':
        world.deps.budgets.restore(key, json)
        return
      case 'attention':
        world.deps.attention.restore(key, json)
        return
      case 'meta':
        this.#restoreMeta(key, json)
    }
  }

  recovered(): StateChanges {
    return this.#insertAll(true)
  }

  /** Replaces {@link Records.recovered} at a reload: workers, and so tasks in progress, continue. */
  takenOver(): StateChanges {
    return this.#insertAll(false)
  }

  #insertAll(hasProcessEnded: boolean): StateChanges {
    const world = this.#world
    const changes = new StateChanges()
    this.#admitAgents(changes, hasProcessEnded ? world.deps.settings().max_agents : Number.POSITIVE_INFINITY)
    const restored = this.#tasks.sort((one, other) => one.id - other.id)
    this.#tasks = []
    const last = Array.from(world.tasks.keys()).at(-1) ?? 0
    const isInOrder = restored.length === 0 || (restored[0] as Task).id > last
    for (const task of restored) {
      if (!hasEnded(task.status.kind) && !world.agents.has(task.agent)) task.agent = this.#newAgentFor(changes, task)
      const { kind } = task.status
      const remote = task.extra?.remote
      if (hasProcessEnded && kind === 'InProgress' && remote?.confirmed !== true) {
        // Its worker has ended with the process.
        const reason =
          remote === undefined
            ? 'the process of its worker has ended'
            : 'its process ended before another machine had confirmed the task'
        if (remote !== undefined) markFallback(task, reason)
        task.status = QUEUED
        task.startedAt = 0
        countUp(task, 'recoveries')
        extraFields(task).queued_at_ms = world.deps.now()
        changes.touch('task', task.id)
        changes.event({
          type: 'task_requeued',
          task_id: task.id,
          agent_id: task.agent,
          gate: 'recovery',
          reason,
          iteration: countOf(task, 'recoveries')
        })
      }
      world.insert(task)
    }
    for (const task of restored) this.#reconnect(changes, task)
    if (!isInOrder) world.tasks = new Map([...world.tasks].sort(([one], [other]) => one - other))
    for (const { path, holders } of [...world.locks.idle()])
      for (const agent of holders) dropLock(world, changes, path, agent)
    for (const agent of new Set(restored.map(task => task.agent))) world.deps.observer.runnable(agent)
    return changes
  }

  /** Restores the dependencies and locks of a task. */
  #reconnect(changes: StateChanges, task: Task): void {
    const world = this.#world
    if (hasEnded(task.status.kind)) return
    for (const { path } of task.files) world.locks.needs(path, task.agent, task.id)
    task.waiting = 0
    for (const on of task.dependsOn) {
      const other = world.tasks.get(on)
      // An unknown dependency was completed long ago: a cancelled one would have cancelled this task.
      if (other === undefined || other.status.kind === 'Completed') continue
      task.waiting += 1
      world.taskDependencies.add(task.id, on)
    }
    if (task.status.kind !== 'Blocked') return
    if (task.waiting === 0) world.move(changes, task, QUEUED)
    else task.status = blockedOn(world, task)
  }

  /** Adds restored agents up to the limit, and retires the others; their tasks go to the remaining agents. */
  #admitAgents(changes: StateChanges, limit: number): void {
    const world = this.#world
    const restored = this.#agents.sort((one, other) => one.id - other.id)
    this.#agents = []
    for (const agent of restored) {
      if (world.agents.size < limit) admit(world, agent)
      else this.#retire(changes, agent.id)
    }
  }

  #retire(changes: StateChanges, id: number): void {
    const world = this.#world
    for (const path of world.files.filesOf(id)) {
      world.files.release(path)
      changes.touch('file_owner', path)
    }
    for (const { path, holders } of world.locks.views()) if (holders.includes(id)) dropLock(world, changes, path, id)
    for (const [group, agent] of [...world.groupAgents]) {
      if (agent !== id) continue
      world.groupAgents.delete(group)
      changes.touch('group_agent', group)
    }
    world.deps.trust.forget(id)
    world.deps.budgets.forget(id)
    changes.touch('agent', id)
    changes.touch('trust', id)
    changes.touch('budget', `agent:${id}`)
    changes.event({ type: 'agent_retired', agent_id: id })
  }

  /** Returns an agent for a task whose agent does not exist: the least loaded one, or a new one. */
  #newAgentFor(changes: StateChanges, task: Task): number {
    const world = this.#world
    changes.touch('task', task.id)
    let best: Agent | undefined
    for (const agent of world.agents.values()) if (best === undefined || agent.load < best.load) best = agent
    if (best !== undefined) return best.id
    const now = world.deps.now()
    const agent = new Agent({
      id: world.deps.ids.agent(),
      name: 'default',
      dynamic: false,
      capabilities: world.deps.capabilities(undefined),
      spawned: { at_ms: now, reason: 'recovery' },
      now
    })
    admit(world, agent)
    changes.touch('agent', agent.id)
    changes.event({ type: 'agent_spawned', agent_id: agent.id, name: agent.name })
    return agent.id
  }

  #meta(key: string): string | null {
    const world = this.#world
    if (key === 'totals') return JSON.stringify(world.totals)
    if (key === 'stopped') return world.stopped === null ? null : JSON.stringify(world.stopped)
    return null
  }

  #restoreMeta(key: string, json: string): void {
    const world = this.#world
    if (key === 'stopped') world.stopped ??= JSON.parse(json) as { reason: string | null }
    if (key !== 'totals') return
    const stored = JSON.parse(json) as Totals
    world.totals.completed += stored.completed
    world.totals.failed += stored.failed
    world.totals.cancelled += stored.cancelled
  }
}

const SHARED: Readonly<Partial<Record<TaskStatus['kind'], TaskStatus>>> = {
  Queued: QUEUED,
  InProgress: IN_PROGRESS,
  Completed: COMPLETED,
  Cancelled: CANCELLED,
  BlockedOnApproval: BLOCKED_ON_APPROVAL
}

const shared = { status: (read: TaskStatus) => SHARED[read.kind] ?? read }

function serialisedTask(world: World, id: number): string | null {
  const task = world.tasks.get(id)
  return task === undefined ? null : serialiseTask(task)
}

function numberOrNull(value: number | null): string | null {
  return value === null ? null : String(value)
}
