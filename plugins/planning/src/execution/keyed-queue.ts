/** Serial queue for each key; other keys run concurrently. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  take<A>(key: string, run: () => Promise<A>): Promise<A> {
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

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values())
  }
}
