/** Maximum number of remembered subjects. */
const MAX_KEYS = 100_000

/** A limit of calls: at most `max` at once, refilled evenly over the window. */
export interface CallLimit {
  readonly max: number
  readonly windowMs: number
}

/**
 * Counts calls by the generic cell rate algorithm: per subject, one time at which its calls are paid off. In memory, of
 * this process; beyond 100,000 subjects, the one that called least recently is forgotten.
 */
export class RateLimits {
  /** Theoretical arrival time of the next call by subject, least recently used first. */
  readonly #paidAt: Map<string, number>
  readonly #now: () => number
  readonly #maxKeys: number

  /** `now`: milliseconds of a monotonic clock. `paidAt`: state of earlier limits, which is continued. */
  constructor(now: () => number = () => performance.now(), maxKeys = MAX_KEYS, paidAt = new Map<string, number>()) {
    this.#paidAt = paidAt
    this.#now = now
    this.#maxKeys = maxKeys
  }

  get size(): number {
    return this.#paidAt.size
  }

  /** Takes a call of a subject. Returns 0, or the milliseconds until the next call is allowed. */
  take(subject: string, { max, windowMs }: CallLimit): number {
    const now = this.#now()
    const interval = windowMs / max
    const before = this.#paidAt.get(subject)
    // A limit that a saved file made shorter must not refuse calls for the time of the longer one.
    const paid = before === undefined || before < now ? now : Math.min(before, now + windowMs)
    const wait = paid + interval - now - windowMs
    if (before !== undefined) this.#paidAt.delete(subject)
    // A rounding error must not cost a call.
    if (wait > 1e-6) {
      this.#paidAt.set(subject, paid)
      return wait
    }
    this.#paidAt.set(subject, paid + interval)
    const [oldest] = this.#paidAt.keys()
    if (this.#paidAt.size > this.#maxKeys && oldest !== undefined) this.#paidAt.delete(oldest)
    return 0
  }
}
