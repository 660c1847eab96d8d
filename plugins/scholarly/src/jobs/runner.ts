import type { Job } from './job.ts'
import { type RunOptions, type RunParts, runJob } from './run-job.ts'

export interface RunnerParts extends RunParts {
  /** Name of this process in locks. */
  owner(): string
  /** Called after a job changed. */
  changed(): void
}

/** Runs jobs in this process: each job once at a time, and the jobs of an archive one after another. */
export class JobRunner {
  readonly #parts: RunnerParts
  readonly #running = new Map<number, Promise<Job>>()
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** Runs a job that is due, and returns it afterwards. Another job is returned as it is. Throws `SCH_JOB_UNKNOWN`. */
  async run(id: number, options: RunOptions): Promise<Job> {
    const running = this.#running.get(id)
    if (running !== undefined) return running
    const { adapter } = await this.#parts.store.get(id)
    const again = this.#running.get(id)
    if (again !== undefined) return again
    const before = this.#last.get(adapter) ?? Promise.resolve()
    const run = before.then(() => this.#claimAndRun(id, options))
    const settled = run.then(
      () => {},
      () => {}
    )
    this.#running.set(id, run)
    this.#last.set(adapter, settled)
    settled.then(() => {
      this.#running.delete(id)
      if (this.#last.get(adapter) === settled) this.#last.delete(adapter)
    })
    return run
  }

  /** Waits for running jobs. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.values())
  }

  async #claimAndRun(id: number, options: RunOptions): Promise<Job> {
    const { store, owner, settings, changed } = this.#parts
    if (!options.signal.aborted) {
      const claim = await store.claim(id, owner(), settings().job_lock_ttl_seconds * 1_000)
      if (claim !== null) {
        changed()
        await runJob(this.#parts, claim, options)
        changed()
      }
    }
    return store.get(id)
  }
}
