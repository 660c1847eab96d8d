import {
  agentLabel,
  type EndedTasks,
  type ForeignAgent,
  type ForeignTask,
  type ForeignTaskFilter,
  OPEN_STATUSES,
  type OpenStatus,
  type PlacementExplanation,
  type ProcessTasks,
  type TaskExplanation,
  type TaskProcess,
  type TaskViewSource
} from '@svc/contracts'
import type { ForeignRecord, OtherSeats, SeatProcess, TaskCount } from '../durable/other-seats.ts'
import { TrustLedger, type TrustSettings } from '../policy/trust.ts'
import { Agent } from '../state/agent.ts'
import { toLoad, weightOf } from '../state/priority.ts'
import { NO_REASONS } from '../state/reasons.ts'
import { restoreTask, type Task, taskView } from '../state/task.ts'
import type { SeatVerbs } from './seat-verbs.ts'

export interface SeatSourceOptions {
  /** Returns the other seats of the serving state; null without a database. */
  readonly others: () => OtherSeats | null
  readonly trust: () => TrustSettings
  readonly verbs: Pick<SeatVerbs, 'send'>
}

/** Returns the source of tasks that other processes on the same database hold. */
export function seatSource({ others, trust, verbs }: SeatSourceOptions): TaskViewSource {
  const counts = new SeatCounts()
  const seats = async (): Promise<Seats> => {
    const reader = others()
    return reader === null ? { reader, list: [] } : { reader, list: await reader.processes() }
  }
  return {
    id: 'seats',
    async list(filter, signal) {
      const { reader, list } = await seats()
      return reader === null ? [] : foreignTasks(list, await reader.tasks(numbersOf(list), filter, signal), filter)
    },
    async agents(signal) {
      const { reader, list } = await seats()
      return reader === null ? [] : foreignAgents(reader, list, new TrustLedger(trust), signal)
    },
    async processes(signal) {
      const { reader, list } = await seats()
      return reader === null ? [] : counts.of(reader, list, signal)
    },
    async explain(task, signal) {
      const { reader, list } = await seats()
      const { seat } = task.process
      const found = list.find(each => each.seat === seat)
      if (reader === null || found === undefined) return null
      const [record] = await reader.tasks([found.seat], { task: task.id }, signal)
      const restored = record === undefined ? null : readTask(record)
      return restored === null ? null : storedExplanation(restored)
    },
    async version() {
      const { list } = await seats()
      return list.map(({ seat, pid, committed, alive }) => `${seat}:${pid}:${committed}:${alive}`).join(' ')
    },
    act: (task, verb, args, caller) => verbs.send(task, verb, args, caller)
  }
}

interface Seats {
  readonly reader: OtherSeats | null
  readonly list: readonly SeatProcess[]
}

function processOf({ committed: _, owner: _owner, ...process }: SeatProcess): TaskProcess & { readonly seat: number } {
  return process
}

function numbersOf(seats: readonly SeatProcess[]): number[] {
  return seats.map(({ seat }) => seat)
}

function foreignTasks(
  seats: readonly SeatProcess[],
  records: readonly ForeignRecord[],
  { status }: ForeignTaskFilter
): readonly ForeignTask[] {
  const processes = new Map(seats.map(each => [each.seat, processOf(each)]))
  return records.flatMap(record => {
    const task = readTask(record)
    const process = processes.get(record.seat)
    if (task === null || process === undefined) return []
    return status === undefined || task.status.kind === status ? [{ ...taskView(task), process }] : []
  })
}

/** Returns a task from its record; null if the record is damaged, which its own process logs. */
function readTask({ json }: ForeignRecord): Task | null {
  try {
    return restoreTask(json, { status: status => status })
  } catch {
    return null
  }
}

async function foreignAgents(
  reader: OtherSeats,
  seats: readonly SeatProcess[],
  ledger: TrustLedger,
  signal: AbortSignal
): Promise<readonly ForeignAgent[]> {
  const numbers = numbersOf(seats)
  const records = await reader.records(numbers, ['agent', 'trust', 'file_owner'], signal)
  const counts = await reader.counts(numbers, signal)
  const owned = new Map<number, number>()
  for (const { kind, key, json } of records) {
    if (kind === 'file_owner') owned.set(Number(json), (owned.get(Number(json)) ?? 0) + 1)
    else if (kind === 'trust') attempt(() => ledger.restore(key, json))
  }
  return seats
    .map(processOf)
    .flatMap(process =>
      records.flatMap(({ kind, seat, json }) => {
        if (kind !== 'agent' || seat !== process.seat) return []
        const agent = attempt(() => Agent.restore(json, 0))
        if (agent === null) return []
        const { activity: _unknown, ...view } = agent.view(ledger.of(agent.id), owned.get(agent.id) ?? 0)
        return [{ ...view, ...workOf(counts.filter(each => each.seat === seat && each.agent === agent.id)), process }]
      })
    )
    .sort((one, other) => one.id - other.id)
}

/** Returns the fields of an agent that follow from its tasks. */
function workOf(counts: readonly TaskCount[]) {
  const sum = (matches: (count: TaskCount) => boolean): number =>
    counts.reduce((total, each) => (matches(each) ? total + each.count : total), 0)
  const queued = (priority: string) => sum(each => each.status === 'Queued' && each.priority === priority)
  const running = counts.filter(({ status }) => status === 'InProgress')
  const loaded = counts.filter(({ status }) => status === 'InProgress' || status === 'Queued')
  return {
    queued: sum(({ status }) => status === 'Queued'),
    doubted: sum(({ status }) => status === 'Doubted'),
    urgent: queued('Urgent'),
    normal: queued('Normal'),
    background: queued('Background'),
    current_task: running.length === 0 ? null : Math.max(...running.map(({ last }) => last)),
    weighted_load: toLoad(
      loaded.reduce(
        (load, { priority, complexity, count }) => load + weightOf(priority as Task['priority'], complexity) * count,
        0
      )
    )
  }
}

/** Number of agents and tasks of each seat, counted again only after the seat has committed a transaction. */
class SeatCounts {
  readonly #counted = new Map<number, SeatCount>()
  #reader: OtherSeats | null = null

  async of(reader: OtherSeats, seats: readonly SeatProcess[], signal: AbortSignal): Promise<readonly ProcessTasks[]> {
    if (reader !== this.#reader) this.#counted.clear()
    this.#reader = reader
    const stale = seats.filter(({ seat, committed }) => this.#counted.get(seat)?.committed !== committed)
    const numbers = numbersOf(stale)
    const counts = await reader.counts(numbers, signal)
    const records = await reader.records(numbers, ['agent', 'meta'], signal)
    for (const { seat, committed } of stale) {
      const open = noOpenTasks()
      for (const { status, count, ...of } of counts) if (of.seat === seat && isOpen(status)) open[status] += count
      const own = records.filter(record => record.seat === seat)
      const totals = own.find(({ kind, key }) => kind === 'meta' && key === 'totals')
      const agents = own.filter(({ kind }) => kind === 'agent').length
      this.#counted.set(seat, { committed, agents, open, ended: endedTasks(totals?.json) })
    }
    const known = new Set(numbersOf(seats))
    for (const seat of this.#counted.keys()) if (!known.has(seat)) this.#counted.delete(seat)
    return seats.flatMap(each => {
      const found = this.#counted.get(each.seat)
      return found === undefined
        ? []
        : [{ ...processOf(each), agents: found.agents, open: found.open, ended: found.ended }]
    })
  }
}

interface SeatCount extends Pick<ProcessTasks, 'agents' | 'open' | 'ended'> {
  readonly committed: number
}

function endedTasks(json: string | undefined): EndedTasks {
  const { completed, failed, cancelled } = (attempt(() => JSON.parse(json ?? '{}')) ?? {}) as Partial<EndedTasks>
  return { completed: Number(completed ?? 0), failed: Number(failed ?? 0), cancelled: Number(cancelled ?? 0) }
}

function noOpenTasks(): Record<OpenStatus, number> {
  return { Queued: 0, InProgress: 0, Blocked: 0, BlockedOnApproval: 0, Doubted: 0 }
}

function isOpen(status: string): status is OpenStatus {
  return (OPEN_STATUSES as readonly string[]).includes(status)
}

/** Returns what the record of a task says about its routing and its gates. */
function storedExplanation(task: Task): TaskExplanation {
  const { candidates, gates } = task.reasons ?? NO_REASONS
  return {
    task_id: task.id,
    routing: {
      agent_id: task.agent,
      rule: task.rule,
      candidates,
      placement_reason: `${task.placement}: ${agentLabel(task.agent)} by ${task.rule}`
    },
    placement: placementOf(task),
    test_decision: { decision: task.test, rationale: 'The process that holds the task has the reason.' },
    gates,
    trace: []
  }
}

function placementOf({ placement: reason, extra }: Task): PlacementExplanation {
  const { remote } = extra ?? {}
  if (remote === undefined)
    return { surface: 'local', reason, because: 'The process that holds the task has its routing reasons.' }
  const because = `The task was placed on ${remote.mesh_node_id ?? 'another machine'}.`
  return { surface: 'remote', reason, because, delegate: remote }
}

function attempt<A>(run: () => A): A | null {
  try {
    return run()
  } catch {
    return null
  }
}
