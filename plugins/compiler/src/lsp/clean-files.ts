const COOLDOWN_MILLISECONDS = 120_000

/** Files that became free of findings, each reported at most once in two minutes. */
export class CleanFiles {
  readonly #now: () => number
  readonly #dirty = new Set<string>()
  readonly #reportedAt = new Map<string, number>()

  /** `now` returns milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Takes the number of findings of a file; returns true if the file became clean and should be reported. */
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

  /** Forgets a closed file, but keeps the time of its last report. */
  close(uri: string): void {
    this.#dirty.delete(uri)
  }
}
