import type { AgentEvent } from '@svc/contracts'

/** Tasks per second by event, over the last five seconds. */
export interface Rates {
  readonly submitted: number
  readonly completed: number
  readonly failed: number
}

const WINDOW_MS = 5_000
const BUCKET_MS = 500
const COUNTED: Readonly<Record<string, keyof Rates>> = {
  task_submitted: 'submitted',
  task_completed: 'completed',
  task_failed: 'failed'
}

/** Counts events per half second, so that memory does not grow with their number. Times are Unix milliseconds. */
export class RateCounter {
  readonly #startedAt: number
  readonly #buckets = new Map<number, Record<keyof Rates, number>>()

  constructor(now: number) {
    this.#startedAt = now
  }

  count({ kind, timestamp_ms }: AgentEvent): void {
    const rate = COUNTED[kind.type]
    if (rate === undefined || timestamp_ms < this.#startedAt) return
    const at = Math.floor(timestamp_ms / BUCKET_MS)
    const bucket = this.#buckets.get(at) ?? { submitted: 0, completed: 0, failed: 0 }
    bucket[rate]++
    this.#buckets.set(at, bucket)
  }

  /**
   * Returns the rates over the last five seconds, or over the time since the start if that is shorter. A time of less
   * than one second counts as one second.
   */
  rates(now: number): Rates {
    const since = Math.max(now - WINDOW_MS, this.#startedAt)
    const seconds = Math.max(now - since, 1_000) / 1_000
    const sum = { submitted: 0, completed: 0, failed: 0 }
    for (const [at, bucket] of this.#buckets) {
      if ((at + 1) * BUCKET_MS <= now - WINDOW_MS) {
        this.#buckets.delete(at)
        continue
      }
      sum.submitted += bucket.submitted
      sum.completed += bucket.completed
      sum.failed += bucket.failed
    }
    return {
      submitted: rounded(sum.submitted / seconds),
      completed: rounded(sum.completed / seconds),
      failed: rounded(sum.failed / seconds)
    }
  }
}

function rounded(rate: number): number {
  return Math.round(rate * 10) / 10
}
