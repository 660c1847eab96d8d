import { MAX_CHAIN, MAX_CHAIN_CHARACTERS, type ResponseStore, type StoredResponse } from './response-store.ts'

const MAX_KEPT = 1_000
const MAX_CHARACTERS = 33_554_432

interface Kept {
  readonly owner: string
  /** JSON of the response, so that readers cannot change it. */
  readonly text: string
}

/** Keeps the newest responses in memory, for a process without a database. */
export class MemoryResponses implements ResponseStore {
  readonly durable = false
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>()
  #characters = 0

  async prepare(): Promise<void> {
    // Nothing in memory has to be prepared.
  }

  async save(owner: string, stored: StoredResponse): Promise<void> {
    const text = JSON.stringify(stored)
    this.#remove(stored.id)
    this.#kept.set(stored.id, { owner, text })
    this.#characters += text.length
    for (const id of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT && this.#characters <= MAX_CHARACTERS) break
      this.#remove(id)
    }
  }

  async find(owner: string, ids: readonly string[]): Promise<readonly StoredResponse[]> {
    return ids.flatMap(id => this.#read(owner, id) ?? [])
  }

  async chain(owner: string, id: string): Promise<readonly StoredResponse[]> {
    const found: StoredResponse[] = []
    let next: string | null = id
    let characters = 0
    while (next !== null && found.length < MAX_CHAIN && characters < MAX_CHAIN_CHARACTERS) {
      characters += this.#kept.get(next)?.text.length ?? 0
      const stored: StoredResponse | undefined = this.#read(owner, next)
      if (stored === undefined) break
      found.push(stored)
      next = stored.previousId
    }
    return found.reverse()
  }

  async delete(owner: string, id: string): Promise<boolean> {
    if (this.#kept.get(id)?.owner !== owner) return false
    this.#remove(id)
    return true
  }

  #read(owner: string, id: string): StoredResponse | undefined {
    const kept = this.#kept.get(id)
    return kept?.owner === owner ? (JSON.parse(kept.text) as StoredResponse) : undefined
  }

  #remove(id: string): void {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    this.#kept.delete(id)
    this.#characters -= kept.text.length
  }
}
