import type { AgentActivity, AgentView, CapabilityHints, TrustView } from '@svc/contracts'
import { toLoad } from './priority.ts'
import { RunQueue } from './queue.ts'
import type { Task } from './task.ts'

/** Level of missed heartbeats. */
export type Staleness = 'fresh' | 'warn' | 'alert' | 'critical' | 'dead'

interface AgentRecord {
  readonly id: number
  readonly name: string
  readonly dynamic: boolean
  readonly paused: boolean
  readonly capabilities: CapabilityHints
  readonly session?: string
  readonly parent?: number
  readonly spawned: Spawned
  readonly completed: number
  readonly continuations: number
}

/** When and why an agent was created. */
export interface Spawned {
  readonly at_ms: number
  readonly reason: string
  readonly source_task_id?: number
}

/** An agent and its queue. */
export class Agent {
  readonly id: number
  readonly name: string
  readonly dynamic: boolean
  readonly capabilities: CapabilityHints
  readonly spawned: Spawned
  /** Runnable tasks. */
  readonly queue = new RunQueue()
  /** Tasks that cannot run: they wait for another task, an approval or a lock, or are doubted. */
  readonly parked = new Set<Task>()
  /** Tasks in progress. */
  readonly working = new Set<Task>()
  /** Task in progress that the worker has claimed, or that another machine works on. */
  current: Task | null = null
  paused = false
  session: string | null = null
  parent: number | null = null
  completed = 0
  doubted = 0
  /** Sum of the weights of queued and running tasks, in fiftieths. */
  load = 0
  /** Number of handoffs by unfinished task; tasks without a handoff are left out. */
  readonly handoffs = new Map<number, number>()
  activity: AgentActivity = 'idle'
  heardAt: number
  /** True once the agent has had a worker. */
  isAttended = false
  staleness: Staleness = 'fresh'
  /** Time since when the agent has had no work; null while it has work. */
  idleSince: number | null
  continuations = 0
  continuedAt = 0
  /** True if the agent is dead, and leaves once no other machine works on its tasks. */
  leavesLater = false

  constructor(made: {
    readonly id: number
    readonly name: string
    readonly dynamic: boolean
    readonly capabilities: CapabilityHints
    readonly spawned: Spawned
    readonly now: number
  }) {
    this.id = made.id
    this.name = made.name
    this.dynamic = made.dynamic
    this.capabilities = made.capabilities
    this.spawned = made.spawned
    this.heardAt = made.now
    this.idleSince = made.now
  }

  get weightedLoad(): number {
    return toLoad(this.load)
  }

  get hasWork(): boolean {
    return this.queue.size > 0 || this.working.size > 0
  }

  get maxHandoffs(): number {
    let max = 0
    for (const count of this.handoffs.values()) if (count > max) max = count
    return max
  }

  /** Returns the unfinished tasks: first those in progress, then runnable ones, then parked ones. */
  tasks(): readonly Task[] {
    return [...this.working, ...this.queue.values(), ...this.parked]
  }

  view(trust: TrustView, ownedFiles: number): AgentView {
    const { current, session, parent } = this
    const skill = current?.extra?.active_skill
    const phase = current?.extra?.phase
    return {
      id: this.id,
      name: this.name,
      dynamic: this.dynamic,
      paused: this.paused,
      capabilities: this.capabilities,
      queued: this.queue.size,
      doubted: this.doubted,
      urgent: this.queue.sizeOf('Urgent'),
      normal: this.queue.sizeOf('Normal'),
      background: this.queue.sizeOf('Background'),
      current_task: current?.id ?? null,
      completed: this.completed,
      weighted_load: this.weightedLoad,
      owned_files: ownedFiles,
      activity: this.activity,
      ...(session === null ? {} : { session_id: session }),
      max_handoff_count: this.maxHandoffs,
      ...(skill === undefined ? {} : { active_skill: skill }),
      ...(phase === undefined ? {} : { current_phase: phase }),
      trust: trust.score,
      trust_tier: trust.tier,
      ...(parent === null ? {} : { parent_agent_id: parent })
    }
  }

  serialise(): string {
    const record: AgentRecord = {
      id: this.id,
      name: this.name,
      dynamic: this.dynamic,
      paused: this.paused,
      capabilities: this.capabilities,
      ...(this.session === null ? {} : { session: this.session }),
      ...(this.parent === null ? {} : { parent: this.parent }),
      spawned: this.spawned,
      completed: this.completed,
      continuations: this.continuations
    }
    return JSON.stringify(record)
  }

  /** Restores an agent from its record. Throws if the record is invalid. */
  static restore(json: string, now: number): Agent {
    const record = JSON.parse(json) as AgentRecord
    if (!Number.isSafeInteger(record.id) || typeof record.name !== 'string')
      throw new TypeError('the record is not that of an agent')
    const agent = new Agent({ ...record, now })
    agent.paused = record.paused
    agent.session = record.session ?? null
    agent.parent = record.parent ?? null
    agent.completed = record.completed
    agent.continuations = record.continuations
    return agent
  }
}
