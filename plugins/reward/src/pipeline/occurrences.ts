/** Counts of events by user and type since the process started. They survive a reload of the plugin. */
export type SessionCounts = Map<string, number>

/**
 * Counts of one batch, on top of those of the process. `commit` adds them after the transaction; until then a failed
 * batch changes nothing.
 */
export class Occurrences {
  readonly #committed: SessionCounts
  readonly #added: SessionCounts = new Map()

  constructor(committed: SessionCounts) {
    this.#committed = committed
  }

  /** Counts an event, and returns its number: 1 for the first. */
  next(user: string, type: string): number {
    const key = `${user}\u001f${type}`
    const added = (this.#added.get(key) ?? 0) + 1
    this.#added.set(key, added)
    return (this.#committed.get(key) ?? 0) + added
  }

  commit(): void {
    for (const [key, count] of this.#added) this.#committed.set(key, (this.#committed.get(key) ?? 0) + count)
    this.#added.clear()
  }
}
