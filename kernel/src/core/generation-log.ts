import type { GenerationReport } from '@svc/contracts'

const MAX_ENTRIES = 100

/** The last generations and refused changes. Holds names only, so that no old plugin code stays in memory. */
export class GenerationLog {
  readonly #entries: GenerationReport[] = []

  add(entry: GenerationReport): void {
    this.#entries.push(entry)
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift()
  }

  /** Newest first. */
  list(): readonly GenerationReport[] {
    return this.#entries.toReversed()
  }
}
