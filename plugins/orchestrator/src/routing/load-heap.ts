import type { CapabilityHints } from '@svc/contracts'

/** Router's view of an agent. */
export interface AgentEntry {
  readonly id: number
  readonly name: string
  readonly capabilities: CapabilityHints
  readonly heap: LoadHeap
  load: number
  isPaused: boolean
  /** Index in the heap. */
  position: number
  /** Number of the decision that the fields below belong to. */
  decision: number
  ownedFiles: number
  isGroupAgent: boolean
  isNamedAsGroup: boolean
  penalty: number
  score: number
}

/** Returns true if `a` comes before `b`: unpaused first, then lower load, then lower id. */
function precedes(a: AgentEntry, b: AgentEntry): boolean {
  if (a.isPaused !== b.isPaused) return b.isPaused
  return a.load < b.load || (a.load === b.load && a.id < b.id)
}

/**
 * Binary heap of agents with equal fitness, least loaded first. Each agent stores its index, so a load change costs
 * O(log n).
 */
export class LoadHeap {
  readonly #items: AgentEntry[] = []

  get size(): number {
    return this.#items.length
  }

  get first(): AgentEntry | undefined {
    return this.#items[0]
  }

  add(entry: AgentEntry): void {
    entry.position = this.#items.length
    this.#items.push(entry)
    this.#rise(entry)
  }

  remove(entry: AgentEntry): void {
    const last = this.#items.pop()
    if (last === undefined || last === entry) return
    this.#items[entry.position] = last
    last.position = entry.position
    this.moved(last)
  }

  /** Restores the order after an agent's load or paused state has changed. */
  moved(entry: AgentEntry): void {
    this.#rise(entry)
    this.#sink(entry)
  }

  #rise(entry: AgentEntry): void {
    const items = this.#items
    while (entry.position > 0) {
      const parent = items[(entry.position - 1) >> 1]
      if (parent === undefined || !precedes(entry, parent)) return
      this.#swap(entry, parent)
    }
  }

  #sink(entry: AgentEntry): void {
    const items = this.#items
    for (;;) {
      const left = items[2 * entry.position + 1]
      if (left === undefined) return
      const right = items[2 * entry.position + 2]
      const smaller = right !== undefined && precedes(right, left) ? right : left
      if (!precedes(smaller, entry)) return
      this.#swap(smaller, entry)
    }
  }

  #swap(a: AgentEntry, b: AgentEntry): void {
    const position = a.position
    a.position = b.position
    b.position = position
    this.#items[a.position] = a
    this.#items[b.position] = b
  }
}
