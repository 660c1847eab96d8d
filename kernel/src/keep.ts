interface Kept {
  holders: number
  readonly value: Promise<unknown>
  close: (value: unknown) => void | Promise<void>
}

/**
 * Ref-counted resources that outlive a reload: the new unit acquires before the old one releases, so the count never
 * reaches zero and the resource is opened once.
 */
export class Keep {
  readonly #kept = new Map<string, Kept>()

  /**
   * Opens at the first acquisition, also when several happen at once. `close` always belongs to the newest holder, so
   * that a resource does not pin the code that opened it first.
   */
  async acquire<A>(
    key: string,
    open: () => A | Promise<A>,
    close: (value: A) => void | Promise<void>
  ): Promise<{ readonly value: A; readonly release: () => Promise<void> }> {
    const found = this.#kept.get(key)
    const kept = found ?? { holders: 0, value: Promise.resolve().then(open), close: close as Kept['close'] }
    if (found === undefined) this.#kept.set(key, kept)
    kept.holders += 1
    kept.close = close as Kept['close']
    try {
      const value = (await kept.value) as A
      let held = true
      const release = async (): Promise<void> => {
        if (!held) return
        held = false
        await this.#release(key, kept)
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

  async #release(key: string, kept: Kept): Promise<void> {
    kept.holders -= 1
    if (kept.holders > 0) return
    this.#kept.delete(key)
    await kept.close(await kept.value)
  }
}
