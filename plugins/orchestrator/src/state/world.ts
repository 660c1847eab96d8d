import {
  agentLabel,
  type CapabilityHints,
  orchestrationErrors,
  type TaskStatus,
  type TaskStatusKind,
  taskLabel,
  type WithdrawalReason
} from '@svc/contracts'
import type { StartStep } from '../steps.ts'
import type { Agent } from './agent.ts'
import type { StateChanges } from './changes.ts'
import { MAX_ENDED, MAX_PLACEMENT_DETAIL, type StateSettings } from './limits.ts'
import { LockTable } from './locks.ts'
import { OwnedFiles } from './owned-files.ts'
import type {
  BudgetPort,
  Clock,
  GatePort,
  IdSource,
  JudgePort,
  Ledger,
  PlanRebalance,
  RouterPort,
  RoutingWorld,
  ScalerPort,
  TrustPort
} from './ports.ts'
import { toLoad } from './priority.ts'
import { allows, hasEnded, QUEUED, refuseTransition } from './status.ts'
import { countOf, extraFields, type Task, taskWeight } from './task.ts'
import { TaskDependencies } from './task-dependencies.ts'
import { TraceBook } from './trace-book.ts'

/** Dependencies of {@link World}. */
export interface WorldDependencies {
  readonly settings: () => StateSettings
  readonly now: Clock
  readonly ids: IdSource
  readonly traceId: () => string
  /** Starts a step of the recorded call that runs now; default: nothing is recorded. */
  readonly step?: StartStep
  /** Creates the router for this state. */
  readonly router: (world: RoutingWorld) => RouterPort
  readonly scaler: ScalerPort
  readonly planRebalance: PlanRebalance
  readonly trust: TrustPort
  readonly budgets: BudgetPort
  readonly attention: Ledger
  readonly judge: JudgePort
  readonly gates: Pick<GatePort, 'run'>
  /** Returns the capabilities of a new agent. `own`: capabilities that it requests. */
  readonly capabilities: (own: CapabilityHints | undefined) => CapabilityHints
  readonly observer: Observer
}

/** Observer, called synchronously while a command runs. */
export interface Observer {
  /** Called when an agent may have a newly runnable task. */
  runnable(agent: number): void
  /** Called when a task is no longer in progress. */
  stopped(task: number, because: string): void
}

export interface Totals {
  completed: number
  failed: number
  cancelled: number
}

/**
 * All tasks, agents, locks and files, and the few operations that all commands are built from. Each operation keeps
 * queues, counts, loads and indexes consistent, and records its changes in {@link StateChanges}. Synchronous, no I/O.
 */
export class World {
  readonly deps: WorldDependencies
  readonly router: RouterPort
  /** Tasks by id, in ascending order; includes the ended tasks that are still known. */
  tasks = new Map<number, Task>()
  readonly agents = new Map<number, Agent>()
  readonly locks = new LockTable()
  readonly files = new OwnedFiles()
  readonly taskDependencies = new TaskDependencies()
  readonly traces = new TraceBook()
  readonly groupAgents = new Map<string, number>()
  /** Tasks in progress on other machines, by id. */
  readonly holds = new Map<number, Task>()
  readonly counts: Record<TaskStatusKind, number> = {
    Queued: 0,
    InProgress: 0,
    Completed: 0,
    Failed: 0,
    Blocked: 0,
    BlockedOnApproval: 0,
    Cancelled: 0,
    Doubted: 0
  }
  readonly totals: Totals = { completed: 0, failed: 0, cancelled: 0 }
  /** Agents whose trust has changed since their rows of `agent_reliability` were written. */
  readonly rated = new Set<number>()
  /** Active emergency stop; null if there is none. */
  stopped: { readonly reason: string | null } | null = null
  /** Time of the last submission, start or end. */
  activeAt: number
  /** True if the current idleness has been reported. */
  saidIdle = false
  lastHeartbeatLook = 0
  /** Sum of the loads of all agents, in fiftieths. */
  load = 0
  /** Ids of ended tasks that are still known, in the order of their ends. */
  readonly #ended = new Set<number>()
  /** Queued tasks that found a file locked when they should start, by the file's path. */
  readonly #parked = new Map<string, Set<Task>>()
  #createdAt = 0

  constructor(deps: WorldDependencies) {
    this.deps = deps
    this.activeAt = deps.now()
    this.router = deps.router({
      fileOwner: path => this.files.owner(path),
      groupAgent: group => this.groupAgents.get(group) ?? null,
      trust: agent => deps.trust.of(agent),
      completionTrust: agent => deps.trust.rollup(agent),
      canSpawn: () => this.agents.size < deps.settings().max_agents,
      now: deps.now
    })
  }

  /** Returns a task. Throws `ORC_TASK_NOT_FOUND`. */
  task(id: number): Task {
    const task = this.tasks.get(id)
    if (task === undefined)
      throw orchestrationErrors.create('ORC_TASK_NOT_FOUND', `Task ${taskLabel(id)} not found`, {
        hint: 'svc orch tasks lists the known tasks'
      })
    return task
  }

  /** Returns an agent. Throws `ORC_AGENT_NOT_FOUND`. */
  agent(id: number): Agent {
    const agent = this.agents.get(id)
    if (agent === undefined)
      throw orchestrationErrors.create('ORC_AGENT_NOT_FOUND', `Agent ${agentLabel(id)} not found`, {
        hint: 'svc orch agents lists the existing agents'
      })
    return agent
  }

  /** Returns the creation time of a new task: never before an existing one, so that queues are first in, first out. */
  stampCreation(): number {
    this.#createdAt = Math.max(this.#createdAt, this.deps.now())
    return this.#createdAt
  }

  /** Adds a new task, and records the change. */
  add(changes: StateChanges, task: Task): void {
    this.insert(task)
    changes.touch('task', task.id)
  }

  /** Adds a task without recording a change, for example a restored one. */
  insert(task: Task): void {
    this.tasks.set(task.id, task)
    if (task.createdAt > this.#createdAt) this.#createdAt = task.createdAt
    this.#enter(task)
    const agent = this.agents.get(task.agent)
    if (agent !== undefined) this.router.loadChanged(agent.id, agent.weightedLoad)
  }

  /** Changes the status of a task. Throws `ORC_TRANSITION` if the transition is not allowed. */
  move(changes: StateChanges, task: Task, to: TaskStatus, because = ''): void {
    if (!allows(task.status.kind, to.kind)) refuseTransition(task.id, task.status, to.kind)
    const agent = this.agents.get(task.agent)
    const before = agent?.load
    this.#leave(task, because)
    if (this.holds.size > 0) this.#endHold(changes, task, because, to.kind === 'Cancelled' ? 'cancelled' : 'moved')
    task.status = to
    this.#enter(task)
    changes.touch('task', task.id)
    this.activeAt = this.deps.now()
    this.saidIdle = false
    if (agent !== undefined && agent.load !== before) this.router.loadChanged(agent.id, agent.weightedLoad)
    this.#evict(changes)
  }

  /** Moves an unfinished task to another agent; a task in progress is queued again. */
  reassign(changes: StateChanges, task: Task, to: Agent, because: string): void {
    const from = this.agents.get(task.agent)
    this.#leave(task, because)
    if (this.holds.size > 0) this.#endHold(changes, task, because, 'moved')
    if (task.status.kind === 'InProgress') {
      task.status = QUEUED
      task.startedAt = 0
    }
    task.agent = to.id
    this.#enter(task)
    changes.touch('task', task.id)
    if (from !== undefined) this.router.loadChanged(from.id, from.weightedLoad)
    this.router.loadChanged(to.id, to.weightedLoad)
  }

  /** Applies a change that affects the position of a task in its queue. */
  replace(changes: StateChanges, task: Task, change: () => void): void {
    this.#leave(task, '')
    change()
    this.#enter(task)
    changes.touch('task', task.id)
    const agent = this.agents.get(task.agent)
    if (agent !== undefined) this.router.loadChanged(agent.id, agent.weightedLoad)
  }

  /** Runs a query of the router as if a task had no load. */
  withoutLoad<A>(task: Task, query: () => A): A {
    const agent = this.agents.get(task.agent)
    if (agent === undefined) return query()
    const { load, id } = agent
    this.router.loadChanged(id, toLoad(load - taskWeight(task)))
    try {
      return query()
    } finally {
      this.router.loadChanged(id, agent.weightedLoad)
    }
  }

  /** Parks a queued task until a file is unlocked. */
  park(task: Task, path: string): void {
    const agent = this.agents.get(task.agent)
    if (task.slot === -1) return
    agent?.queue.remove(task)
    agent?.parked.add(task)
    const waiting = this.#parked.get(path)
    if (waiting === undefined) this.#parked.set(path, new Set([task]))
    else waiting.add(task)
  }

  /** Queues the tasks again that waited for an unlocked file. */
  freed(path: string): void {
    const waiting = this.#parked.get(path)
    if (waiting === undefined) return
    this.#parked.delete(path)
    for (const task of waiting) {
      const agent = this.agents.get(task.agent)
      if (agent === undefined) continue
      agent.parked.delete(task)
      agent.queue.add(task)
      this.deps.observer.runnable(agent.id)
    }
  }

  /** Number of completed, failed and cancelled tasks that are still known. */
  get endedCount(): number {
    return this.#ended.size
  }

  /** Drops the oldest ended tasks above the limit, except for those that others wait for. */
  #evict(changes: StateChanges): void {
    for (let looks = this.#ended.size; looks > 0 && this.#ended.size > MAX_ENDED; looks--) {
      const [oldest] = this.#ended
      if (oldest === undefined) return
      this.#ended.delete(oldest)
      if (this.taskDependencies.has(oldest)) {
        this.#ended.add(oldest)
        continue
      }
      this.tasks.delete(oldest)
      changes.touch('task', oldest)
    }
  }

  /** Withdraws the remote work of a task that leaves its hold by a local command. */
  #endHold(changes: StateChanges, task: Task, because: string, why: WithdrawalReason): void {
    if (!this.holds.delete(task.id)) return
    const extra = extraFields(task)
    if (extra.remote !== undefined) changes.withdraw({ task: task.id, delegate: extra.remote, why })
    extra.remote = undefined
    task.placement = 'local_queue_default'
    const detail = `its hold on another machine was ended${because === '' ? '' : `: ${because}`}`
    extra.placement_detail = detail.slice(0, MAX_PLACEMENT_DETAIL)
  }

  #leave(task: Task, because: string): void {
    const { kind } = task.status
    this.counts[kind] -= 1
    if (hasEnded(kind)) {
      this.#ended.delete(task.id)
      return
    }
    const agent = this.agents.get(task.agent)
    if (agent === undefined) return
    agent.handoffs.delete(task.id)
    switch (kind) {
      case 'Queued':
        if (task.slot !== -1) agent.queue.remove(task)
        else this.#unpark(task, agent)
        this.#weigh(agent, -taskWeight(task))
        break
      case 'InProgress':
        agent.working.delete(task)
        if (agent.current === task) agent.current = this.#otherHeld(agent)
        this.#weigh(agent, -taskWeight(task))
        this.deps.observer.stopped(task.id, because)
        // Its agent may start the next task.
        if (agent.queue.size > 0) this.deps.observer.runnable(agent.id)
        break
      case 'Doubted':
        agent.doubted -= 1
        agent.parked.delete(task)
        break
      default:
        agent.parked.delete(task)
    }
    if (!agent.hasWork) agent.idleSince ??= this.deps.now()
  }

  #enter(task: Task): void {
    const { kind } = task.status
    this.counts[kind] += 1
    if (hasEnded(kind)) {
      this.#ended.add(task.id)
      return
    }
    const agent = this.agents.get(task.agent)
    if (agent === undefined) return
    const handoffs = countOf(task, 'handoff_count')
    if (handoffs > 0) agent.handoffs.set(task.id, handoffs)
    switch (kind) {
      case 'Queued':
        agent.queue.add(task)
        this.#weigh(agent, taskWeight(task))
        this.deps.observer.runnable(agent.id)
        break
      case 'InProgress':
        agent.working.add(task)
        this.#weigh(agent, taskWeight(task))
        if (task.extra?.remote === undefined) break
        this.holds.set(task.id, task)
        // No local worker gets another task meanwhile.
        agent.current ??= task
        break
      case 'Doubted':
        agent.doubted += 1
        agent.parked.add(task)
        break
      default:
        agent.parked.add(task)
    }
    if (agent.hasWork) agent.idleSince = null
  }

  /** Returns a held task of an agent. After a recovery, an agent may have several. */
  #otherHeld(agent: Agent): Task | null {
    if (this.holds.size > 0) for (const task of agent.working) if (this.holds.has(task.id)) return task
    return null
  }

  #weigh(agent: Agent, fiftieths: number): void {
    agent.load += fiftieths
    this.load += fiftieths
  }

  #unpark(task: Task, agent: Agent): void {
    agent.parked.delete(task)
    for (const [path, waiting] of this.#parked) {
      if (waiting.delete(task) && waiting.size === 0) this.#parked.delete(path)
    }
  }
}
