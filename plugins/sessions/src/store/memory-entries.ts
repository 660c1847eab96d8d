import type { ContextEntry } from '@svc/contracts'
import { sessionErrors } from '../errors.ts'
import { type Change, type Entries, isAlive } from './entries.ts'

/** Maximum entries without a database. */
const MAX_ENTRIES = 10_000

export class MemoryEntries implements Entries {
  readonly #entries = new Map<string, ContextEntry>()

  async get(key: string, now: number): Promise<ContextEntry | null> {
    return this.#alive(key, now)
  }

  async update(key: string, now: number, change: (entry: ContextEntry | null) => Change | null): Promise<void> {
    const changed = change(this.#alive(key, now))
    if (changed === null) return
    if (!this.#entries.has(key) && this.#entries.size >= MAX_ENTRIES) {
      this.#clear(now)
      if (this.#entries.size >= MAX_ENTRIES)
        throw sessionErrors.create(
          'SES_CONTEXT_FULL',
          `${JSON.stringify(key)} cannot be stored: without a database the limit is ${MAX_ENTRIES} context entries`,
          { hint: 'remove entries, set a time to live, or enable the plugin database' }
        )
    }
    this.#entries.set(key, { key, ...changed, updated_at_ms: now })
  }

  async remove(key: string, now: number): Promise<boolean> {
    const wasThere = this.#alive(key, now) !== null
    this.#entries.delete(key)
    return wasThere
  }

  async list(prefix: string, now: number): Promise<readonly ContextEntry[]> {
    this.#clear(now)
    return [...this.#entries.values()]
      .filter(({ key }) => key.startsWith(prefix))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  #alive(key: string, now: number): ContextEntry | null {
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    if (isAlive(entry, now)) return entry
    this.#entries.delete(key)
    return null
  }

  #clear(now: number): void {
    for (const [key, entry] of this.#entries) if (!isAlive(entry, now)) this.#entries.delete(key)
  }
}
