import {
  type AgentEvent,
  agentLabel,
  type Orchestrator,
  type RepositoryAgent,
  type RepositoryTasks
} from '@svc/contracts'
import type { Delta } from '@svc/plugin-sdk'
import { type AgentRow, agentRowOf } from './agent-row.ts'
import { ForeignRows } from './foreign-rows.ts'
import { LiveRows } from './live-rows.ts'
import { byQueueOrder, type TaskRow, taskRowOf } from './task-row.ts'

/** Topics of the orchestrator's state. */
export const TOPICS = {
  tasks: 'orchestrator.tasks',
  agents: 'orchestrator.agents',
  locks: 'orchestrator.locks',
  status: 'orchestrator.status',
  attention: 'orchestrator.attention',
  events: 'orchestrator.events'
} as const

const ALL_TOPICS = Object.values(TOPICS)
/** Number of tasks at the front of each queue whose rows contain their position. */
const SHOWN_POSITIONS = 10
const MAX_NAMES = 10_000

/**
 * Rows of all tasks and agents of the repository, and the announcements of their changes. Follows the orchestrator that
 * serves, over its reloads. Rows of other processes are those of the last {@link StateFeeds.refreshForeign}.
 */
export class StateFeeds {
  readonly #current: () => Orchestrator | undefined
  readonly #announce: (topic: string) => void
  readonly #repository: () => RepositoryTasks | undefined
  readonly #foreign: ForeignRows
  readonly #tasks: LiveRows<TaskRow>
  readonly #agents: LiveRows<AgentRow>
  /** Rows of the queued tasks by id, by agent. */
  readonly #queues = new Map<number, Map<number, TaskRow>>()
  /** Agents whose queues changed since the positions were computed. */
  readonly #requeued = new Set<number>()
  /** Tasks with a position, by agent. */
  readonly #positions = new Map<number, readonly number[]>()
  /** Keys of the tasks that wait for a person, or that failed. */
  readonly #attention = new Set<string>()
  /** Number of tasks by state. */
  readonly #counts = new Map<TaskRow['state'], number>()
  readonly #names = new Map<number, string>()
  #followed: Orchestrator | undefined
  #stop: () => void = () => {}

  /**
   * `current`: returns the orchestrator that serves; undefined while there is none. `repository`: returns the tasks of
   * all processes. `announce`: announces the change of a topic.
   */
  constructor(
    current: () => Orchestrator | undefined,
    repository: () => RepositoryTasks | undefined,
    announce: (topic: string) => void
  ) {
    this.#current = current
    this.#repository = repository
    this.#announce = announce
    this.#foreign = new ForeignRows(repository, keys => this.#foreignChanged(keys))
    this.#tasks = new LiveRows<TaskRow>({
      keys: () => [...(this.#followed?.tasks() ?? []).map(({ id }) => String(id)), ...this.#foreign.rows.keys()],
      row: key => this.#taskRow(key),
      changed: (key, before, after) => this.#taskChanged(key, before, after)
    })
    this.#agents = new LiveRows<AgentRow>({
      keys: () => [...(this.#followed?.agents() ?? []), ...this.#foreign.agents].map(({ id }) => String(id)),
      row: key => this.#agentRow(Number(key))
    })
  }

  /** Reads the tasks and agents of other processes, at most once a second. */
  refreshForeign(signal: AbortSignal): Promise<void> {
    return this.#foreign.refresh(signal)
  }

  /** Agents of other processes. */
  get foreignAgents(): readonly RepositoryAgent[] {
    return this.#foreign.agents
  }

  /** Follows the orchestrator that serves now. Cheap if it is the same as before. */
  attach(): void {
    const current = this.#current()
    if (current === this.#followed) return
    this.close()
    this.#followed = current
    this.#changed(null)
    if (current === undefined) return
    const stops = [
      current.subscribeRecords(records => this.#changed(records)),
      current.subscribe(event => this.#event(event))
    ]
    this.#stop = () => {
      for (const stop of stops) stop()
    }
  }

  close(): void {
    this.#stop()
    this.#stop = () => {}
    this.#followed = undefined
  }

  readTasks(since: string | undefined, limit: number): Delta<TaskRow> {
    this.#refresh()
    return this.#tasks.read(since, limit)
  }

  readAgents(since: string | undefined, limit: number): Delta<AgentRow> {
    // A change of a task changes the load of its agent.
    this.#refresh()
    return this.#agents.read(since, limit)
  }

  task(id: number): TaskRow | undefined {
    this.#refresh()
    return this.#tasks.get(String(id))
  }

  /** Returns the number of tasks in each state. */
  counts(): ReadonlyMap<TaskRow['state'], number> {
    this.#refresh()
    return this.#counts
  }

  /** Returns the tasks that wait for a person, and those that failed, in no order. */
  needingAttention(): readonly TaskRow[] {
    this.#refresh()
    return [...this.#attention].flatMap(key => this.#tasks.get(key) ?? [])
  }

  /** Returns the tasks whose label or text contains a text in any case, newest first. */
  search(text: string, limit: number): readonly TaskRow[] {
    this.#refresh()
    const wanted = text.toLowerCase()
    const found: TaskRow[] = []
    for (const row of this.#tasks.values())
      if (row.task.toLowerCase().includes(wanted) || row.description.toLowerCase().includes(wanted)) found.push(row)
    return found.sort((one, other) => other.id - one.id).slice(0, limit)
  }

  /** Returns the first tasks of each agent's queue in the order in which they are served, by agent. */
  queues(limit: number): readonly TaskRow[] {
    this.#refresh()
    return [...this.#queues.keys()].sort((one, other) => one - other).flatMap(agent => this.#first(agent, limit))
  }

  /** Returns the position of a queued task, from 1; null if it is not queued. */
  position(id: number): number | null {
    const row = this.task(id)
    if (row?.state !== 'Queued' || !row.own) return null
    let before = 0
    for (const other of this.#queues.get(row.agent_id)?.values() ?? []) if (byQueueOrder(other, row) < 0) before += 1
    return before + 1
  }

  #changed(records: ReadonlySet<string> | null): void {
    if (records === null) {
      this.#tasks.markAll()
      this.#agents.markAll()
      for (const topic of ALL_TOPICS) this.#announce(topic)
      return
    }
    const topics = new Set<string>()
    for (const record of records) {
      const slash = record.indexOf('/')
      const key = record.slice(slash + 1)
      switch (record.slice(0, slash)) {
        case 'task':
          this.#tasks.mark(key)
          topics.add(TOPICS.tasks).add(TOPICS.agents)
          break
        case 'agent':
        case 'trust':
          this.#agents.mark(key)
          topics.add(TOPICS.agents)
          break
        case 'budget':
          if (key.startsWith('agent:')) this.#agents.mark(key.slice('agent:'.length))
          topics.add(TOPICS.agents)
          break
        case 'file_owner':
          this.#agents.markAll()
          topics.add(TOPICS.agents).add(TOPICS.locks)
          break
        case 'lock':
          topics.add(TOPICS.locks)
          break
        case 'attention':
          topics.add(TOPICS.attention)
          break
        case 'meta':
          topics.add(TOPICS.status)
      }
    }
    for (const topic of topics) this.#announce(topic)
  }

  #event({ kind }: AgentEvent): void {
    if (kind.type === 'agent_heartbeat' || kind.type === 'activity_changed') {
      this.#agents.mark(String(kind.agent_id))
      this.#announce(TOPICS.agents)
    }
    this.#announce(TOPICS.events)
  }

  #refresh(): void {
    this.attach()
    this.#tasks.refresh()
    for (const agent of this.#requeued) this.#placePositions(agent)
    this.#requeued.clear()
  }

  #foreignChanged(keys: Iterable<string>): void {
    for (const key of keys) this.#tasks.mark(key)
    this.#agents.markAll()
    for (const topic of [TOPICS.tasks, TOPICS.agents]) this.#announce(topic)
  }

  #taskRow(key: string): TaskRow | null {
    const id = Number(key)
    const task = this.#followed?.task(id) ?? null
    const process = this.#repository()?.process
    if (task === null || process === undefined) return this.#foreign.rows.get(key) ?? null
    const row = taskRowOf({ ...task, process }, this.nameOf(task.agent_id) ?? agentLabel(task.agent_id))
    // The position is computed after all changed rows are known; until then the old one stays.
    const before = this.#tasks.get(String(id))
    if (row.state === 'Queued' && before?.agent_id === row.agent_id && before.position !== undefined)
      row.position = before.position
    return row
  }

  #agentRow(id: number): AgentRow | null {
    const agent = this.#followed?.agent(id) ?? null
    const process = this.#repository()?.process
    if (agent !== null && process !== undefined && this.#followed !== undefined)
      return agentRowOf({ ...agent, process }, this.#followed.budgets.of(id))
    const foreign = this.#foreign.agents.find(each => each.id === id)
    return foreign === undefined ? null : agentRowOf(foreign, null)
  }

  /** Returns the name of an agent of any process; undefined if it is unknown. */
  nameOf(agent: number): string | undefined {
    const known = this.#names.get(agent)
    if (known !== undefined) return known
    const name = this.#followed?.agent(agent)?.name
    if (name === undefined) return this.#foreign.agents.find(({ id }) => id === agent)?.name
    if (this.#names.size >= MAX_NAMES) this.#names.clear()
    this.#names.set(agent, name)
    return name
  }

  #taskChanged(key: string, before: TaskRow | undefined, after: TaskRow | undefined): void {
    for (const row of [before, after]) {
      if (row === undefined) continue
      this.#agents.mark(String(row.agent_id))
      this.#counts.set(row.state, (this.#counts.get(row.state) ?? 0) + (row === before ? -1 : 1))
    }
    const id = (after ?? before)?.id as number
    if (after !== undefined && needsAttention(after)) this.#attention.add(key)
    else this.#attention.delete(key)
    const [from, to] = [queueOf(before), queueOf(after)]
    if (from !== null && from !== to) this.#queues.get(from)?.delete(id)
    if (to !== null) {
      const queue = this.#queues.get(to) ?? new Map<number, TaskRow>()
      this.#queues.set(to, queue.set(id, after as TaskRow))
    }
    if (from === to && before?.priority === after?.priority) return
    if (from !== null && before?.position !== undefined) this.#requeued.add(from)
    if (to !== null && this.#isFirst(after as TaskRow)) this.#requeued.add(to)
  }

  /** Returns true if a queued task is, or becomes, one of the first tasks of its queue. */
  #isFirst(row: TaskRow): boolean {
    const first = this.#positions.get(row.agent_id) ?? []
    const last = this.#queues.get(row.agent_id)?.get(first[SHOWN_POSITIONS - 1] ?? -1)
    return last === undefined || byQueueOrder(row, last) <= 0
  }

  /** Sets the positions of the first tasks of a queue, and removes those of tasks that are no longer among them. */
  #placePositions(agent: number): void {
    const first = this.#first(agent, SHOWN_POSITIONS).map(({ id }) => id)
    for (const id of this.#positions.get(agent) ?? []) if (!first.includes(id)) this.#place(agent, id, undefined)
    for (const [at, id] of first.entries()) this.#place(agent, id, at + 1)
    if (first.length > 0) this.#positions.set(agent, first)
    else {
      this.#positions.delete(agent)
      this.#queues.delete(agent)
    }
  }

  #place(agent: number, id: number, position: number | undefined): void {
    const row = this.#tasks.get(String(id))
    // A task of another agent has its position in the queue of that one.
    if (row === undefined || row.agent_id !== agent || row.position === position) return
    const { position: _, ...rest } = row
    this.#tasks.set(String(id), position === undefined ? rest : { ...rest, position })
  }

  /** Returns the first tasks of a queue, in order. */
  #first(agent: number, limit: number): readonly TaskRow[] {
    const first: TaskRow[] = []
    for (const row of this.#queues.get(agent)?.values() ?? []) {
      const last = first[limit - 1]
      if (last !== undefined && byQueueOrder(row, last) > 0) continue
      let at = first.length
      while (at > 0 && byQueueOrder(row, first[at - 1] as TaskRow) < 0) at -= 1
      first.splice(at, 0, row)
      if (first.length > limit) first.pop()
    }
    return first
  }
}

function queueOf(row: TaskRow | undefined): number | null {
  return row?.state === 'Queued' && row.own ? row.agent_id : null
}

function needsAttention({ state }: TaskRow): boolean {
  return state === 'BlockedOnApproval' || state === 'Doubted' || state === 'Failed'
}
