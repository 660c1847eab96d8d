const COOLDOWN_MILLISECONDS = 120_000

/** Detects files that lose their last finding; reports each file at most once in two minutes. */
export class CleanFiles {
  readonly #now: () => number
  readonly #dirty = new Set<string>()
  readonly #reportedAt = new Map<string, number>()

  /** `now` returns milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Updates the number of findings of a file. Returns true if the file lost its last finding and is to be reported. */
  update(uri: string, findings: number): boolean {
    if (findings > 0) {
      this.#dirty.add(uri)
      return false
    }
    if (!this.#dirty.delete(uri)) return false
    const last = this.#reportedAt.get(uri)
    const now = this.#now()
    if (last !== undefined && now - last < COOLDOWN_MILLISECONDS) return false
    this.#reportedAt.set(uri, now)
    return true
  }

  /** Forgets the findings of a closed file, but not the time of its last report. */
  close(uri: string): void {
    this.#dirty.delete(uri)
  }
}
