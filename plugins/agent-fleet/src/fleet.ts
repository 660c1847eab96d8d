import type { AgentEvent, AgentFleet, TaskProcessor, TaskView } from '@svc/contracts'
import type { RunParts } from './task-run.ts'
import { Worker } from './worker.ts'

/** Interval of heartbeats, which also renew task locks; those expire after 30 s without one. */
const HEARTBEAT_MS = 10_000
/** Interval of checks whether tasks should move from busy agents to idle ones. */
const REBALANCE_MS = 1_000

export interface FleetParts extends RunParts {
  /** True if the settings configure a fleet. */
  readonly enabled: () => boolean
  /** Fallback for a task that no processor accepts. */
  readonly fallback: TaskProcessor
}

/** Runs one worker for each agent of the orchestrator; follows agents that are spawned and retired. */
export class Fleet implements AgentFleet {
  readonly #parts: FleetParts
  readonly #workers = new Map<number, Worker>()
  readonly #leaving = new Set<Promise<void>>()
  #processors: readonly TaskProcessor[] = []
  #requested = false
  #running = false
  #unsubscribe = () => {}
  #heartbeat: NodeJS.Timeout | undefined
  #rebalance: NodeJS.Timeout | undefined
  #isRebalancing = false

  constructor(parts: FleetParts) {
    this.#parts = parts
  }

  get running(): boolean {
    return this.#running
  }

  get workers(): number {
    return this.#workers.size
  }

  get processors(): readonly string[] {
    return this.#processors.map(({ name }) => name)
  }

  /** Replaces the task processors. A task that a removed processor works on is queued again. */
  use(processors: readonly TaskProcessor[]): void {
    this.#processors = [...processors].sort((a, b) => b.rank - a.rank || (a.name < b.name ? -1 : 1))
    for (const worker of this.#workers.values()) worker.keepOnly([...processors, this.#parts.fallback])
    if (this.#requested) this.#begin()
  }

  start(): void {
    this.#requested = true
    this.#begin()
  }

  /** Stops all workers; resolves when their tasks are queued again. */
  async stop(reason: string): Promise<void> {
    this.#requested = false
    this.#running = false
    clearInterval(this.#heartbeat)
    clearInterval(this.#rebalance)
    this.#unsubscribe()
    for (const agent of [...this.#workers.keys()]) this.#leave(agent, reason)
    await Promise.all(this.#leaving)
  }

  #begin(): void {
    // Tasks without a processor stay in their queues.
    if (this.#running || !this.#parts.enabled() || this.#processors.length === 0) return
    this.#running = true
    const { orchestrator } = this.#parts
    this.#unsubscribe = orchestrator.subscribe(event => this.#follow(event))
    for (const { id } of orchestrator.agents()) this.#join(id)
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS).unref()
    this.#rebalance = setInterval(() => void this.#rebalanceIfUneven(), REBALANCE_MS).unref()
  }

  /** Moves waiting tasks from busy agents to idle ones. */
  async #rebalanceIfUneven(): Promise<void> {
    if (this.#workers.size < 2 || this.#isRebalancing || !this.#isUneven()) return
    this.#isRebalancing = true
    try {
      await this.#parts.orchestrator.rebalance()
    } catch (error) {
      this.#parts.log.debug('tasks could not be rebalanced between agents', { error })
    } finally {
      this.#isRebalancing = false
    }
  }

  /** True if an agent is idle while tasks of another one wait. */
  #isUneven(): boolean {
    const agents = this.#parts.orchestrator.agents()
    const isIdle = agents.some(({ paused, queued, current_task }) => !paused && queued === 0 && current_task === null)
    return isIdle && agents.some(({ queued }) => queued > 0)
  }

  #follow({ kind }: AgentEvent): void {
    if (kind.type === 'agent_spawned') this.#join(kind.agent_id)
    else if (kind.type === 'agent_retired') this.#leave(kind.agent_id, 'the agent is retired')
  }

  #join(agent: number): void {
    if (this.#workers.has(agent)) return
    const chooseProcessor = (task: TaskView) =>
      this.#processors.find(processor => processor.takes(task)) ?? this.#parts.fallback
    const worker = new Worker(agent, { ...this.#parts, chooseProcessor })
    this.#workers.set(agent, worker)
    const leaving = worker.ended.finally(() => {
      this.#leaving.delete(leaving)
      if (this.#workers.get(agent) === worker) this.#workers.delete(agent)
    })
    this.#leaving.add(leaving)
  }

  #leave(agent: number, reason: string): void {
    this.#workers.get(agent)?.stop(reason)
    this.#workers.delete(agent)
  }

  #beat(): void {
    const { orchestrator } = this.#parts
    // No event reports agents that the orchestrator took over from an ended process.
    for (const { id } of orchestrator.agents()) this.#join(id)
    for (const worker of this.#workers.values()) {
      if (orchestrator.agent(worker.agent) !== null) orchestrator.heartbeat(worker.agent, worker.activity)
    }
  }
}
