import type { CallState } from './call.ts'

interface Waiter {
  grant(): void
}

/** Concurrency limit for calls. Further calls wait in FIFO order. */
export class Slots {
  readonly #limit: number
  #used = 0
  readonly #waiting = new Set<Waiter>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Acquires a slot. Rejects if the call ends while it waits. Call {@link Slots.free} once for each acquired slot. */
  async take(call: CallState): Promise<void> {
    if (this.#used < this.#limit) {
      this.#used += 1
      return
    }
    const waiter: Waiter = { grant: () => {} }
    const granted = new Promise<void>(resolve => {
      waiter.grant = resolve
    })
    this.#waiting.add(waiter)
    try {
      await new Promise<void>((resolve, reject) =>
        call.race(granted, { onResult: () => resolve(), onError: (_call, error) => reject(error) })
      )
    } catch (error) {
      // The slot may have been granted just before the call ended.
      if (!this.#waiting.delete(waiter)) this.free()
      throw error
    }
  }

  /** Releases a slot. The next waiting call receives it directly. */
  free(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next)
      next.grant()
      return
    }
    this.#used -= 1
  }
}
