/** Runs functions with the same key one after another; different keys run concurrently. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  run<A>(key: string, run: () => Promise<A>): Promise<A> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const mine = before.then(run, run)
    const settled = mine.then(
      () => {},
      () => {}
    )
    this.#last.set(key, settled)
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    })
    return mine
  }

  /** Resolves when no function is queued or running. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values())
  }
}
