import type { ClaimedJob, JobStore } from './job-store.ts'

/**
 * Keeps the lock of a job while it runs. `signal` is aborted when the lock is lost, or when it could not be renewed
 * before its end.
 */
export class Lease {
  readonly #store: JobStore
  readonly #claim: ClaimedJob
  readonly #ttlMs: number
  readonly #lost = new AbortController()
  #renewedAt = performance.now()
  #timer: NodeJS.Timeout | undefined

  constructor(store: JobStore, claim: ClaimedJob, ttlMs: number) {
    this.#store = store
    this.#claim = claim
    this.#ttlMs = ttlMs
    this.#schedule()
  }

  get signal(): AbortSignal {
    return this.#lost.signal
  }

  /** Extends the lock now. Throws `SCH_LEASE_LOST`, and the errors of the database. */
  async renew(): Promise<void> {
    this.#lost.signal.throwIfAborted()
    // The lock ends at the earliest this long after the call began.
    const at = performance.now()
    try {
      await this.#store.renew(this.#claim, this.#ttlMs)
      this.#renewedAt = at
    } catch (error) {
      const isOver = performance.now() - this.#renewedAt >= this.#ttlMs
      if ((error as { code?: string }).code === 'SCH_LEASE_LOST' || isOver) this.#lost.abort(error)
      throw error
    }
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.renew().then(
        () => this.#schedule(),
        () => {
          if (!this.#lost.signal.aborted) this.#schedule()
        }
      )
    }, this.#ttlMs / 3)
    this.#timer.unref()
  }
}
