/** Consecutive failures that open the breaker. */
const MAX_FAILURES = 3
const MIN_OPEN_MS = 5_000
const MAX_OPEN_MS = 60_000

export type BreakerState = 'closed' | 'open' | 'half-open'

/**
 * Circuit breaker of one server. Three consecutive failures open it for 5 s. Then it admits one trial request: a failed
 * trial opens it for twice as long, up to 60 s; the first byte of an answer closes it.
 */
export class Breaker {
  readonly #now: () => number
  #failures = 0
  /** Length of the current or last open period; 0 while closed. */
  #openMs = 0
  #openUntil = 0
  #trial: Attempt | null = null

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get state(): BreakerState {
    if (this.#openMs === 0) return 'closed'
    return this.#now() < this.#openUntil ? 'open' : 'half-open'
  }

  /** Returns 0 if a request may be sent, else the milliseconds until one may be; at least 1 while a trial runs. */
  waitMs(): number {
    if (this.#openMs === 0) return 0
    const left = this.#openUntil - this.#now()
    if (left > 0) return left
    return this.#trial === null ? 0 : 1
  }

  /** Begins a request. Call this only if {@link waitMs} is 0. */
  begin(): Attempt {
    const attempt = new Attempt(this)
    if (this.#openMs > 0) this.#trial = attempt
    return attempt
  }

  /** Ends the open period early, for a server that responds again. The next request is the trial. */
  retryNow(): void {
    if (this.#openMs > 0) this.#openUntil = Math.min(this.#openUntil, this.#now())
  }

  /** Called by {@link Attempt}. */
  respond(): void {
    if (this.#openMs === 0) return
    this.#openMs = 0
    this.#trial = null
  }

  /** Called by {@link Attempt}. */
  settle(attempt: Attempt, outcome: AttemptOutcome): void {
    const isTrial = this.#trial === attempt
    if (isTrial) this.#trial = null
    if (outcome === 'succeeded') {
      this.respond()
      this.#failures = 0
    } else if (outcome === 'failed') this.#fail(isTrial)
  }

  #fail(isTrial: boolean): void {
    if (this.#openMs > 0) {
      // Requests from before the breaker opened say nothing new.
      if (isTrial) this.#open(Math.min(MAX_OPEN_MS, this.#openMs * 2))
      return
    }
    this.#failures += 1
    if (this.#failures >= MAX_FAILURES) this.#open(MIN_OPEN_MS)
  }

  #open(milliseconds: number): void {
    this.#failures = 0
    this.#openMs = milliseconds
    this.#openUntil = this.#now() + milliseconds
  }
}

/** `ended`: the request ended without a verdict on the server, for example because its client disconnected. */
export type AttemptOutcome = 'succeeded' | 'failed' | 'ended'

/** One request to the server. Only its first outcome counts. */
export class Attempt {
  readonly #breaker: Breaker
  #isSettled = false

  constructor(breaker: Breaker) {
    this.#breaker = breaker
  }

  /** Records that an answer began, which closes the breaker. The answer may still fail. */
  respond(): void {
    if (!this.#isSettled) this.#breaker.respond()
  }

  settle(outcome: AttemptOutcome): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#breaker.settle(this, outcome)
  }
}
