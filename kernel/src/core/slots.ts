import type { CallState } from './call.ts'

interface Waiter {
  grant(): void
}

/** Lets so many calls run at once, the others in the order of asking. */
export class Slots {
  readonly #limit: number
  #taken = 0
  readonly #waiting = new Set<Waiter>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Rejects, without a slot, when the call ends before its turn. Every slot taken needs one {@link Slots.free}. */
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
      // It may have been given its slot in the very moment in which it ended.
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
