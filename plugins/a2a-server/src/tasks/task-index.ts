import { setImmediate as immediate } from 'node:timers/promises'
import type { Coordination, StoredNode } from '@svc/contracts'
import { decodeEntry, encodeEntry, type IndexEntry, isOpen } from './index-entry.ts'

/** Entries that are read without a pause for other work of the process. */
const CHUNK = 200
const MAX_RACES = 20

export interface ListQuery {
  readonly owner: string
  /** Only tasks that match; default all. */
  readonly matches?: (entry: IndexEntry) => boolean
  readonly limit: number
  /** Position after which the page begins. */
  readonly after?: Position
}

/** Position in the order of lists: most recently changed first. */
export interface Position {
  readonly at: number
  readonly id: string
}

export interface ListPage {
  readonly entries: readonly IndexEntry[]
  /** Number of matching tasks on all pages. */
  readonly total: number
  readonly hasMore: boolean
}

/**
 * Summaries of all tasks, shared by all servers on one store. Each process has a copy, and reads only the changes since
 * its last read.
 */
export class TaskIndex {
  readonly #store: Coordination
  readonly #scope: string
  readonly #entries = new Map<string, IndexEntry>()
  readonly #onChange: (id: string) => void
  #version: number | undefined
  #reading: Promise<void> | null = null
  #next: Promise<void> | null = null

  /** `onChange` is called for each entry that changed, also by another process. */
  constructor(store: Coordination, scope: string, onChange: (id: string) => void) {
    this.#store = store
    this.#scope = `a2a-tasks:${scope}`
    this.#onChange = onChange
  }

  get size(): number {
    return this.#entries.size
  }

  /** Reads all changes that were committed before the call. */
  refresh(): Promise<void> {
    if (this.#reading === null) {
      this.#reading = this.#read().finally(() => {
        this.#reading = null
      })
      return this.#reading
    }
    // The read that is under way may have begun before the caller's change.
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = null
        return this.refresh()
      })
    return this.#next
  }

  /** Writes the entry of a task unless a newer one is stored. */
  async publish(entry: IndexEntry): Promise<void> {
    const { nodes } = this.#store
    for (let race = 0; race < MAX_RACES; race += 1) {
      const stored = await nodes.find(this.#scope, entry.id)
      const current = stored === null ? null : decodeEntry(entry.id, stored.record)
      if (current !== null && current.last >= entry.last) return
      if ((await nodes.put(this.#scope, entry.id, encodeEntry(entry), stored?.version ?? null)) !== null) return
    }
  }

  async remove(id: string): Promise<void> {
    await this.#store.nodes.remove(this.#scope, id)
  }

  /** Returns a page of an owner's tasks, most recently changed first. */
  list({ owner, matches = () => true, limit, after }: ListQuery): ListPage {
    const found = [...this.#entries.values()].filter(entry => entry.owner === owner && matches(entry)).sort(byChange)
    const rest = after === undefined ? found : found.filter(entry => byChange(after, entry) < 0)
    return { entries: rest.slice(0, limit), total: found.length, hasMore: rest.length > limit }
  }

  /** Returns the unfinished tasks, oldest change first. */
  open(): readonly IndexEntry[] {
    return [...this.#entries.values()].filter(isOpen).sort((one, other) => byChange(other, one))
  }

  /** Counts the unfinished tasks of an owner. */
  countOpen(owner: string): number {
    let count = 0
    for (const entry of this.#entries.values()) if (entry.owner === owner && isOpen(entry)) count += 1
    return count
  }

  /** Returns the ended tasks beyond the newest `keep`. */
  surplus(keep: number): readonly IndexEntry[] {
    const ended = [...this.#entries.values()].filter(entry => !isOpen(entry))
    return ended.length <= keep ? [] : ended.sort(byChange).slice(keep)
  }

  async #read(): Promise<void> {
    const { version, complete, nodes, removed } = await this.#store.nodes.list(this.#scope, this.#version)
    if (complete) {
      const present = new Set(nodes.map(({ id }) => id))
      for (const id of this.#entries.keys()) if (!present.has(id)) this.#drop(id)
    }
    for (const id of removed) this.#drop(id)
    for (let at = 0; at < nodes.length; at += CHUNK) {
      if (at > 0) await immediate()
      for (const node of nodes.slice(at, at + CHUNK)) this.#take(node)
    }
    this.#version = version
  }

  #take({ id, record }: StoredNode): void {
    const entry = decodeEntry(id, record)
    if (entry === null || this.#entries.get(id)?.last === entry.last) return
    this.#entries.set(id, entry)
    this.#onChange(id)
  }

  #drop(id: string): void {
    if (this.#entries.delete(id)) this.#onChange(id)
  }
}

function byChange(one: Position, other: Position): number {
  return other.at - one.at || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0)
}
