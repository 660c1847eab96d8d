export interface BreakerPolicy {
  /** Faults within the window that open the breaker; 0 switches it off. */
  readonly failures: number
  readonly windowMs: number
  /** How long it stays open before one call is let through. */
  readonly halfOpenMs: number
}

/**
 * Switches an operation off after repeated faults of its plugin: uncaught errors, timeouts, invalid output. Errors that
 * the operation declares are answers, not faults.
 */
export class Breaker {
  readonly #policy: BreakerPolicy
  readonly #now: () => number
  #faults: number[] = []
  #openedAt: number | undefined
  /** Time at which the probe was let through. */
  #probedAt: number | undefined

  constructor(policy: BreakerPolicy, now: () => number = Date.now) {
    this.#policy = policy
    this.#now = now
  }

  get open(): boolean {
    return this.#openedAt !== undefined
  }

  /** Milliseconds until a call may try again; 0 lets this call through. */
  admit(): number {
    if (this.#openedAt === undefined) return 0
    const now = this.#now()
    // A probe that never ends is followed by another.
    const wait = Math.max(this.#openedAt, this.#probedAt ?? -Infinity) + this.#policy.halfOpenMs - now
    if (wait > 0) return wait
    this.#probedAt = now
    return 0
  }

  /** True if this closed the breaker. */
  succeed(): boolean {
    if (this.#openedAt === undefined) return false
    this.#openedAt = undefined
    this.#probedAt = undefined
    this.#faults = []
    return true
  }

  /** True if this opened the breaker. */
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

  /** A probe without success or fault, for example cancelled by the caller. */
  release(): void {
    this.#probedAt = undefined
  }
}
