import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage, LinkedSignal, type Logger } from '@svc/plugin-sdk'
import type { AdapterChoice } from '../choice.ts'
import type { Job } from './job.ts'
import type { JobStore } from './job-store.ts'
import type { JobRunner } from './runner.ts'

const MAX_DUE = 100

export interface WorkerParts {
  readonly store: JobStore
  readonly runner: JobRunner
  readonly choice: AdapterChoice
}

/** Runs the jobs that are due, except those of disabled archives. Returns them as they are afterwards. */
export async function runDueJobs(
  { store, runner, choice }: WorkerParts,
  signal: AbortSignal,
  limit = MAX_DUE
): Promise<readonly Job[]> {
  const due = await store.due(MAX_DUE)
  const enabled = due.filter(({ adapter }) => {
    const found = choice.all.find(({ name }) => name === adapter)
    return found === undefined || choice.disabledBy(found) === null
  })
  return Promise.all(enabled.slice(0, limit).map(({ id }) => runner.run(id, { signal })))
}

/** Ends waits early, such as when a job was queued. */
export class WakeSignal {
  #controller = new AbortController()

  wake(): void {
    this.#controller.abort()
  }

  /** Waits for a time, the next `wake`, or the signal. A `wake` since the last wait counts, too. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const linked = new LinkedSignal().with(signal).with(this.#controller.signal)
    await delay(ms, undefined, { signal: linked.signal, ref: false }).catch(() => {})
    linked.close()
    if (this.#controller.signal.aborted) this.#controller = new AbortController()
  }
}

export interface Repetition {
  /** Name of the task in the log. */
  readonly name: string
  readonly intervalMs: number
  readonly log: Logger
  readonly wakeSignal?: WakeSignal
}

/** Repeats a task in intervals until the signal is aborted. A failure is logged, and the next round tries again. */
export async function repeat(
  { name, intervalMs, log, wakeSignal = new WakeSignal() }: Repetition,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<unknown>
): Promise<void> {
  let lastReason = ''
  while (!signal.aborted) {
    try {
      await run(signal)
      lastReason = ''
    } catch (error) {
      const reason = errorMessage(error)
      if (!signal.aborted && reason !== lastReason) log.warn(`${name} failed`, { reason })
      lastReason = reason
    }
    await wakeSignal.wait(intervalMs, signal)
  }
}
