/** Limit for concurrent work. Further work waits in FIFO order. */
export class Semaphore {
  readonly #limit: number
  #used = 0
  readonly #waiting = new Set<() => void>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Acquires a slot. `race` waits for the slot, and may reject before it is granted. Call {@link Semaphore.release} once for
   * each acquired slot.
   */
  async acquire(race: (granted: Promise<void>) => Promise<void> = granted => granted): Promise<void> {
    if (this.#used < this.#limit) {
      this.#used += 1
      return
    }
    let grant = (): void => {}
    const granted = new Promise<void>(resolve => {
      grant = resolve
    })
    this.#waiting.add(grant)
    try {
      await race(granted)
    } catch (error) {
      // The slot may have been granted just before the work was given up.
      if (!this.#waiting.delete(grant)) this.release()
      throw error
    }
  }

  /** Releases a slot. The next waiting work receives it directly. */
  release(): void {
    for (const grant of this.#waiting) {
      this.#waiting.delete(grant)
      grant()
      return
    }
    this.#used -= 1
  }
}
