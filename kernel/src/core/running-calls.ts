import { MAX_TIMER_MS } from '@svc/plugin-sdk'

/** Running call with its deadline. */
export interface RunningCall {
  /** Deadline in milliseconds, on the clock of `performance.now()`; Infinity if there is none. */
  readonly expiresAt: number
  expire(): void
  cancel(): void
}

/**
 * Running calls of one unit. All share one timer and one abort listener; separate ones would cost more than most
 * handlers.
 */
export class RunningCalls {
  readonly #calls = new Set<RunningCall>()
  #timer: NodeJS.Timeout | undefined
  /** Time at which the timer fires: the earliest deadline or sooner. */
  #dueAt = Infinity
  /** Number of calls with a deadline. Only these keep an otherwise idle process alive. */
  #timed = 0
  #closed = false

  /** `closed` is aborted when the unit is disposed. All running calls are then cancelled. */
  constructor(closed: AbortSignal) {
    closed.addEventListener('abort', () => this.#close(), { once: true })
  }

  get closed(): boolean {
    return this.#closed
  }

  add(call: RunningCall): void {
    this.#calls.add(call)
    if (call.expiresAt === Infinity) return
    this.#timed += 1
    if (call.expiresAt < this.#dueAt) this.#arm(call.expiresAt)
    else if (this.#timed === 1) this.#timer?.ref()
  }

  delete(call: RunningCall): void {
    if (!this.#calls.delete(call) || call.expiresAt === Infinity) return
    this.#timed -= 1
    // The timer stays armed, since the next call is likely to need it.
    if (this.#timed === 0) this.#timer?.unref()
  }

  #arm(at: number): void {
    clearTimeout(this.#timer)
    this.#dueAt = at
    // Timers have a maximum delay. For a later deadline, the timer fires early and is armed again.
    const wait = Math.min(Math.max(at - performance.now(), 1), MAX_TIMER_MS)
    this.#timer = setTimeout(() => this.#fire(), wait)
  }

  #fire(): void {
    const now = performance.now()
    let next = Infinity
    for (const call of this.#calls) {
      if (call.expiresAt <= now) call.expire()
      else next = Math.min(next, call.expiresAt)
    }
    if (next === Infinity) this.#dueAt = Infinity
    else this.#arm(next)
  }

  #close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const call of this.#calls) call.cancel()
    this.#calls.clear()
  }
}
