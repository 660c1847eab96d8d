import type { ModelCapacity } from '@svc/contracts'
import type { CompletionRecord, Metrics } from './metrics.ts'
import { HISTORY_SECONDS, type ModelActivity } from './model-activity.ts'

const TICK_MS = 1_000

/**
 * Records completions in a {@link ModelActivity} and announces changes. While completions run, and until the last one
 * has left the history, it announces once a second, because rates change with time. Otherwise it does nothing.
 */
export class ActivityFeed implements Metrics {
  readonly #activity: ModelActivity
  readonly #capacity: () => ModelCapacity | undefined
  readonly #changed: () => void
  #running = 0
  #ticksLeft = 0
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  /** `capacity` returns undefined while no model is loaded. */
  constructor(activity: ModelActivity, capacity: () => ModelCapacity | undefined, changed: () => void) {
    this.#activity = activity
    this.#capacity = capacity
    this.#changed = changed
  }

  begin(_model: string, adapter: string): CompletionRecord {
    const record = this.#activity.begin(adapter)
    this.#running += 1
    this.#wake()
    let ended = false
    return {
      text: tokens => {
        record.text(tokens)
        this.#sample()
      },
      usage: usage => record.usage(usage),
      end: outcome => {
        if (ended) return
        ended = true
        record.end(outcome)
        this.#running -= 1
        this.#wake()
      }
    }
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
  }

  #wake(): void {
    if (this.#stopped) return
    this.#ticksLeft = HISTORY_SECONDS + 1
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref()
    this.#changed()
  }

  #tick(): void {
    if (this.#running > 0) {
      this.#ticksLeft = HISTORY_SECONDS + 1
      this.#sample()
    } else {
      this.#ticksLeft -= 1
      if (this.#ticksLeft === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
    }
    this.#changed()
  }

  #sample(): void {
    const capacity = this.#capacity()
    if (capacity !== undefined) this.#activity.sample(capacity)
  }
}

/** Records each completion in both. */
export function both(one: Metrics, other: Metrics): Metrics {
  return {
    begin: (model, adapter) => {
      const records = [one.begin(model, adapter), other.begin(model, adapter)]
      return {
        text: tokens => {
          for (const record of records) record.text(tokens)
        },
        usage: usage => {
          for (const record of records) record.usage(usage)
        },
        end: outcome => {
          for (const record of records) record.end(outcome)
        }
      }
    }
  }
}
