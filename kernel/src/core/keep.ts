interface Kept {
  holders: number
  readonly value: Promise<unknown>
}

/**
 * Reference-counted resources that outlive a reload. The new unit acquires before the old one releases, so the resource
 * stays open.
 */
export class Keep {
  readonly #kept = new Map<string, Kept>()
  /** Resources that are closing. Opening one again waits, since a port or lock has only one holder at a time. */
  readonly #closing = new Map<string, Promise<void>>()

  /**
   * Opens the resource on the first acquisition, even if several run concurrently. The last holder to release it calls
   * its own `close`, so the resource does not keep earlier code in memory.
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
