interface Kept {
  holders: number
  readonly value: Promise<unknown>
}

/**
 * Ref-counted resources that outlive a reload: the new unit acquires before the old one releases, so the count never
 * reaches zero and the resource is opened once.
 */
export class Keep {
  readonly #kept = new Map<string, Kept>()
  /** Resources that are closing. Opening one again waits, since a port or a lock can be held once. */
  readonly #closing = new Map<string, Promise<void>>()

  /**
   * Opens at the first acquisition, also when several happen at once. The last holder to release closes it, with its
   * own `close`. So a resource does not pin the code that opened it, or the code of a holder that failed.
   */
  async acquire<A>(
    key: string,
    open: () => A | Promise<A>,
    close: (value: A) => void | Promise<void>
  ): Promise<{ readonly value: A; readonly release: () => Promise<void> }> {
    const kept = this.#kept.get(key) ?? this.#open(key, open)
    kept.holders += 1
    try {
      const value = (await kept.value) as A
      let held = true
      const release = async (): Promise<void> => {
        if (!held) return
        held = false
        await this.#release(key, kept, async () => close(value))
      }
      return { value, release }
    } catch (error) {
      kept.holders -= 1
      if (this.#kept.get(key) === kept) this.#kept.delete(key)
      throw error
    }
  }

  keys(): string[] {
    return [...this.#kept.keys()]
  }

  #open(key: string, open: () => unknown): Kept {
    const value = Promise.resolve(this.#closing.get(key)).then(open)
    const kept = { holders: 0, value }
    this.#kept.set(key, kept)
    return kept
  }

  async #release(key: string, kept: Kept, close: () => Promise<void>): Promise<void> {
    kept.holders -= 1
    if (kept.holders > 0) return
    this.#kept.delete(key)
    const closed = close()
    const over = closed
      .catch(() => {})
      .then(() => {
        if (this.#closing.get(key) === over) this.#closing.delete(key)
      })
    this.#closing.set(key, over)
    await closed
  }
}
