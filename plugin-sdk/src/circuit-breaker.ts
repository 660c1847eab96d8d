export interface BreakerPolicy {
  /** Number of faults within the window that opens the breaker; 0 disables it. */
  readonly failures: number
  readonly windowMs: number
  /** Milliseconds that the breaker stays open before it admits one probe call. */
  readonly halfOpenMs: number
}

/**
 * Circuit breaker. Opens after repeated faults within a window, and closes after a successful probe. The caller decides
 * what counts as a fault: the breaker of an operation counts uncaught errors, timeouts and invalid output.
 */
export class CircuitBreaker {
  readonly #policy: BreakerPolicy
  readonly #now: () => number
  #faults: number[] = []
  #openedAt: number | undefined
  /** Time at which the last probe call was admitted. */
  #probedAt: number | undefined

  constructor(policy: BreakerPolicy, now: () => number = Date.now) {
    this.#policy = policy
    this.#now = now
  }

  get open(): boolean {
    return this.#openedAt !== undefined
  }

  /** Returns 0 to admit the call, else the milliseconds until a call may be retried. */
  admit(): number {
    if (this.#openedAt === undefined) return 0
    const now = this.#now()
    // A probe may never end, so another one is admitted after the same wait.
    const wait = Math.max(this.#openedAt, this.#probedAt ?? -Infinity) + this.#policy.halfOpenMs - now
    if (wait > 0) return wait
    this.#probedAt = now
    return 0
  }

  /** Records a success. Returns true if it closed the breaker. */
  succeed(): boolean {
    if (this.#openedAt === undefined) return false
    this.#openedAt = undefined
    this.#probedAt = undefined
    this.#faults = []
    return true
  }

  /** Records a fault. Returns true if it opened the breaker. */
  fault(): boolean {
    if (this.#policy.failures <= 0) return false
    const now = this.#now()
    if (this.#openedAt !== undefined) {
      this.#openedAt = now
      this.#probedAt = undefined
      return false
    }
    this.#faults = [...this.#faults.filter(at => at > now - this.#policy.windowMs), now]
    if (this.#faults.length < this.#policy.failures) return false
    this.#openedAt = now
    return true
  }

  /** Ends a probe that neither succeeded nor failed, for example because its caller cancelled it. */
  release(): void {
    this.#probedAt = undefined
  }
}
