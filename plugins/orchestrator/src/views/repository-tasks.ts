import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ForeignTask,
  type ForeignTaskFilter,
  type Gathered,
  type Orchestrator,
  orchestrationErrors,
  type ProcessTasks,
  processLabel,
  type RepositoryAgent,
  type RepositoryTask,
  type RepositoryTaskFilter,
  type RepositoryTasks,
  type TaskExplanation,
  type TaskFilter,
  type TaskProcess,
  type TaskReference,
  type TaskVerb,
  type TaskVerbArguments,
  type TaskViewSource,
  taskLabel,
  type VerbCaller
} from '@svc/contracts'
import { errorMessage, type Logger, withTimeout } from '@svc/plugin-sdk'

/** Time limit of a source in milliseconds. */
const READ_MS = 5_000
/** Time in milliseconds to wait until the tasks of an ended process are taken over. */
const TAKEOVER_MS = 5_000
const TAKEOVER_LOOK_MS = 200

export interface RepositoryTasksOptions {
  readonly orchestrator: Orchestrator
  /** Returns the seat of this process; null without a database. */
  readonly seat: () => number | null
  readonly sources: () => readonly TaskViewSource[]
  readonly log: Pick<Logger, 'warn'>
}

/** Joins the tasks of this process with those of all sources. */
export class JoinedTasks implements RepositoryTasks {
  readonly #options: RepositoryTasksOptions
  /** Sources that failed when they were last read, which were logged. */
  readonly #failing = new Set<string>()
  /** Source of each task that was returned to a caller. */
  readonly #sourceOf = new WeakMap<TaskProcess, TaskViewSource>()

  constructor(options: RepositoryTasksOptions) {
    this.#options = options
  }

  get process(): TaskProcess {
    return { host: hostname(), pid: process.pid, seat: this.#options.seat(), alive: true, own: true }
  }

  async list({ own = false, ...filter }: RepositoryTaskFilter, signal: AbortSignal): Promise<Gathered<RepositoryTask>> {
    // Other processes first: a task that this process takes over meanwhile then appears twice, not never.
    const { items: foreign, failed } = own ? NONE : await this.#foreign(filter, signal)
    const mine = this.#own(filter)
    const ids = new Set(mine.map(({ id }) => id))
    const others = foreign.filter(({ id, process }) => !(hasUniqueIds(process) && ids.has(id)))
    const all = [...mine, ...others].sort((one, other) => one.id - other.id)
    return { items: filter.limit === undefined ? all : firstOf(all, filter.limit), failed }
  }

  async agents({ own = false }: { readonly own?: boolean }, signal: AbortSignal): Promise<Gathered<RepositoryAgent>> {
    const { items: foreign, failed } = own
      ? NONE
      : await this.#gather(async (source, limited) => (await source.agents?.(limited)) ?? [], signal)
    const { process } = this
    const mine = this.#options.orchestrator.agents().map(agent => ({ ...agent, process }))
    const ids = new Set(mine.map(({ id }) => id))
    const others = foreign.filter(({ id, process }) => !(hasUniqueIds(process) && ids.has(id)))
    return { items: [...mine, ...others].sort((one, other) => one.id - other.id), failed }
  }

  async processes(signal: AbortSignal): Promise<Gathered<ProcessTasks>> {
    const { items, failed } = await this.#gather(
      async (source, limited) => (await source.processes?.(limited)) ?? [],
      signal
    )
    const { orchestrator } = this.#options
    const { agent_count: agents, ...totals } = orchestrator.status()
    const mine: ProcessTasks = {
      ...this.process,
      agents,
      open: {
        Queued: totals.total_queued,
        InProgress: totals.total_in_progress,
        Blocked: totals.total_blocked,
        BlockedOnApproval: totals.total_blocked_on_approval,
        Doubted: totals.total_doubted
      },
      ended: { completed: totals.total_completed, failed: totals.total_failed, cancelled: totals.total_cancelled }
    }
    return { items: [mine, ...items], failed }
  }

  async find(reference: TaskReference, signal: AbortSignal): Promise<RepositoryTask | null> {
    const { id, host } = reference
    const mine = host === undefined || host === hostname() ? this.#options.orchestrator.task(id) : null
    if (mine !== null) return { ...mine, process: this.process }
    const { items, failed } = await this.#foreign({ task: id }, signal)
    const found = items.filter(({ process }) => host === undefined || process.host === host)
    const [first] = found
    if (first === undefined) {
      // This process may have taken over the task meanwhile.
      const late = host === undefined || host === hostname() ? this.#options.orchestrator.task(id) : null
      if (late !== null) return { ...late, process: this.process }
      if (failed.length === 0) return null
      const reasons = failed.map(({ source, error }) => `${source}: ${error}`)
      throw orchestrationErrors.create(
        'ORC_ELSEWHERE',
        `Task ${taskLabel(id)} is not of this process, and other processes could not be read: ${reasons.join('; ')}`,
        { data: { task_id: id }, hint: 'try again later; svc db status shows whether the database responds' }
      )
    }
    if (new Set(found.map(({ process }) => process.host)).size === 1) return first
    throw orchestrationErrors.create(
      'ORC_TASK_AMBIGUOUS',
      `Task ${taskLabel(id)} is ambiguous: ${found.map(({ process }) => processLabel(process)).join(', ')} have tasks with this number`,
      {
        data: { task_id: id, hosts: found.map(({ process }) => process.host) },
        hint: `add the host, for example ${taskLabel(id)}@${first.process.host}`
      }
    )
  }

  async explain(task: RepositoryTask, signal: AbortSignal): Promise<TaskExplanation | null> {
    if (task.process.own) return this.#options.orchestrator.explain(task.id)
    return (await this.#source(task)?.explain?.(task, signal)) ?? null
  }

  async heldElsewhere(reference: TaskReference, signal: AbortSignal): Promise<ForeignTask | null> {
    const until = performance.now() + TAKEOVER_MS
    for (;;) {
      const task = await this.find(reference, signal)
      if (task === null || task.process.own) return null
      if (task.process.alive || performance.now() >= until) return task
      await delay(TAKEOVER_LOOK_MS, undefined, { signal })
    }
  }

  async act(task: ForeignTask, verb: TaskVerb, args: TaskVerbArguments, caller: VerbCaller): Promise<unknown> {
    const source = this.#source(task)
    if (source?.act !== undefined) return source.act(task, verb, args, caller)
    const { host, pid, seat } = task.process
    throw orchestrationErrors.create(
      'ORC_ELSEWHERE',
      `Task ${taskLabel(task.id)} is held by process ${processLabel(task.process)}, to which requests are not passed on; nothing changed`,
      { data: { task_id: task.id, host, pid, seat }, hint: 'run the command on that host' }
    )
  }

  async foreign(since: string | undefined, signal: AbortSignal) {
    const { sources } = this.#options
    const versions = await this.#gather(
      async (source, limited) => [`${source.id} ${await source.version?.(limited)}`],
      signal
    )
    const version = versions.items.join('\n')
    const isKnown = sources().every(source => source.version !== undefined)
    if (isKnown && version === since) return null
    const { items, failed } = await this.#foreign({}, signal)
    // Without the tasks of a source that fails for a moment, its rows would be removed and added again.
    if (failed.length > 0 && since !== undefined) return null
    return { version, tasks: items }
  }

  #own(filter: TaskFilter): readonly RepositoryTask[] {
    const { process } = this
    return this.#options.orchestrator.tasks(filter).map(task => ({ ...task, process }))
  }

  #foreign(filter: ForeignTaskFilter, signal: AbortSignal): Promise<Gathered<ForeignTask>> {
    return this.#gather(async (source, limited) => {
      const tasks = await source.list(filter, limited)
      for (const { process } of tasks) this.#sourceOf.set(process, source)
      return tasks
    }, signal)
  }

  #source({ process }: ForeignTask): TaskViewSource | undefined {
    return this.#sourceOf.get(process)
  }

  /** Reads all sources concurrently. */
  async #gather<A>(
    read: (source: TaskViewSource, signal: AbortSignal) => Promise<readonly A[]>,
    signal: AbortSignal
  ): Promise<Gathered<A>> {
    const failed: { source: string; error: string }[] = []
    const parts = await Promise.all(
      this.#options.sources().map(async source => {
        try {
          const items = await withTimeout(READ_MS, limited => read(source, limited), { signal })
          this.#failing.delete(source.id)
          return items
        } catch (error) {
          signal.throwIfAborted()
          failed.push({ source: source.id, error: errorMessage(error) })
          if (!this.#failing.has(source.id))
            this.#options.log.warn('tasks of other processes could not be read', { source: source.id, error })
          this.#failing.add(source.id)
          return []
        }
      })
    )
    return { items: parts.flat(), failed }
  }
}

const NONE: Gathered<never> = { items: [], failed: [] }

/** Returns the first tasks, and those with the number of the last one, so that the next page can begin after it. */
function firstOf(tasks: readonly RepositoryTask[], limit: number): readonly RepositoryTask[] {
  let end = Math.min(limit, tasks.length)
  while (end > 0 && tasks[end]?.id === tasks[end - 1]?.id) end += 1
  return tasks.slice(0, end)
}

/** Returns whether a process uses the database of this process: then no other process has a task with the same id. */
function hasUniqueIds({ seat }: TaskProcess): boolean {
  return seat !== null
}
