import type { CallState } from './call.ts'

interface Waiter {
  grant(): void
}

/** Limits concurrent calls. The others wait in the order of their requests. */
export class Slots {
  readonly #limit: number
  #taken = 0
  readonly #waiting = new Set<Waiter>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Rejects, without a slot, if the call ends while it waits. Every acquired slot needs one {@link Slots.free}. */
  async take(call: CallState): Promise<void> {
    if (this.#taken < this.#limit) {
      this.#taken += 1
      return
    }
    const waiter: Waiter = { grant: () => {} }
    const granted = new Promise<void>(resolve => {
      waiter.grant = resolve
    })
    this.#waiting.add(waiter)
    try {
      await new Promise<void>((won, reject) =>
        call.race(granted, { won: () => won(), lost: (_call, error) => reject(error) })
      )
    } catch (error) {
      // It may have received its slot at the moment when it ended.
      if (!this.#waiting.delete(waiter)) this.free()
      throw error
    }
  }

  /** The slot passes to the next in line without becoming free in between. */
  free(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next)
      next.grant()
      return
    }
    this.#taken -= 1
  }
}
