import { setImmediate as nextTurn } from 'node:timers/promises'
import { agentLabel, type RepositoryAgent, type RepositoryTasks } from '@svc/contracts'
import { raceAbort } from '@svc/plugin-sdk'
import { keyOf, type TaskRow, taskRowOf } from './task-row.ts'

/** Minimum milliseconds between two reads of the other processes. */
const MIN_INTERVAL_MS = 1_000
/** Maximum share of the time that reads may take. */
const MAX_SHARE = 0.1
const READ_MS = 10_000
/** Rows that are computed before the event loop gets its turn. */
const ROWS_PER_TURN = 500

/** Rows of the tasks and agents that other processes hold, read at most once a second. */
export class ForeignRows {
  readonly #tasks: () => RepositoryTasks | undefined
  readonly #changed: (keys: Iterable<string>) => void
  #rows: ReadonlyMap<string, TaskRow> = new Map()
  #agents: readonly RepositoryAgent[] = []
  #version: string | undefined
  #nextAt = 0
  #reading: Promise<void> | null = null

  /** `changed`: called with the keys of tasks that may have changed. */
  constructor(tasks: () => RepositoryTasks | undefined, changed: (keys: Iterable<string>) => void) {
    this.#tasks = tasks
    this.#changed = changed
  }

  get rows(): ReadonlyMap<string, TaskRow> {
    return this.#rows
  }

  get agents(): readonly RepositoryAgent[] {
    return this.#agents
  }

  /** Reads the other processes, unless that was done a moment ago. Rejects only if the signal is aborted. */
  async refresh(signal: AbortSignal): Promise<void> {
    if (this.#reading === null && performance.now() < this.#nextAt) return
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    await raceAbort(signal, this.#reading)
  }

  /** Reads the other processes. Their errors are logged by the view of all tasks, and the earlier rows stay. */
  async #read(): Promise<void> {
    const begun = performance.now()
    const view = this.#tasks()
    const signal = AbortSignal.timeout(READ_MS)
    try {
      const found = await view?.foreign(this.#version, signal)
      if (view === undefined || found === null || found === undefined) return
      const { items } = await view.agents({}, signal)
      const agents = items.filter(({ process }) => !process.own)
      const names = new Map(agents.map(({ id, name }) => [id, name]))
      const rows = new Map<string, TaskRow>()
      for (const task of found.tasks) {
        rows.set(keyOf(task), taskRowOf(task, names.get(task.agent_id) ?? agentLabel(task.agent_id)))
        if (rows.size % ROWS_PER_TURN === 0) await nextTurn()
      }
      const before = this.#rows
      this.#rows = rows
      this.#agents = agents
      this.#version = found.version
      this.#changed(new Set([...before.keys(), ...rows.keys()]))
    } catch {
      // Only the time limit; the next read tries again.
    } finally {
      const took = performance.now() - begun
      this.#nextAt = performance.now() + Math.max(MIN_INTERVAL_MS, took / MAX_SHARE)
    }
  }
}
