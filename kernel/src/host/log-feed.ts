import type { LogLines } from '@svc/contracts'

/** Maximum number of lines to buffer before the first listener. */
const MAX_EARLY_LINES = 1_000

/** Passes the lines of the log to listeners. */
export class LogFeed implements LogLines {
  readonly #listeners = new Set<(line: string) => void>()
  #early: string[] | null = []

  write(line: string): void {
    if (this.#early !== null && this.#early.push(line) > MAX_EARLY_LINES) this.#early.shift()
    for (const listener of this.#listeners) listener(line)
  }

  subscribe(listener: (line: string) => void): () => void {
    const early = this.#early ?? []
    this.#early = null
    for (const line of early) listener(line)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
