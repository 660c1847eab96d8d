import { type Delta, DeltaLog } from '@svc/plugin-sdk'

/** Number of marked keys beyond which all rows are compared instead. */
const MAX_MARKED = 20_000

export interface LiveRowsSource<Row> {
  /** Returns the keys of all rows. */
  readonly keys: () => Iterable<string>
  /** Returns the current row of a key; null if there is none. */
  readonly row: (key: string) => Row | null
  /** Called with each changed row. `before` or `after` is undefined if the row was added or removed. */
  readonly changed?: (key: string, before: Row | undefined, after: Row | undefined) => void
}

/**
 * Rows that are computed only when they are read. Between two reads a change costs one set entry, and before the first
 * read nothing. Rows must have only primitive fields: two rows are equal if all their fields are.
 */
export class LiveRows<Row extends object> {
  readonly #source: LiveRowsSource<Row>
  readonly #maxMarked: number
  readonly #log = new DeltaLog<Row>()
  readonly #keys = new Set<string>()
  readonly #marked = new Set<string>()
  #isRead = false
  #areAllMarked = true

  constructor(source: LiveRowsSource<Row>, maxMarked = MAX_MARKED) {
    this.#source = source
    this.#maxMarked = maxMarked
  }

  /** Marks a row, which is computed again at the next read. */
  mark(key: string): void {
    if (!this.#isRead || this.#areAllMarked) return
    this.#marked.add(key)
    if (this.#marked.size > this.#maxMarked) this.markAll()
  }

  markAll(): void {
    this.#areAllMarked = true
    this.#marked.clear()
  }

  /** Computes the marked rows. */
  refresh(): void {
    this.#isRead = true
    const keys = this.#areAllMarked ? new Set([...this.#keys, ...this.#source.keys()]) : [...this.#marked]
    this.#areAllMarked = false
    this.#marked.clear()
    for (const key of keys) this.set(key, this.#source.row(key))
  }

  /** Replaces a row; null removes it. */
  set(key: string, row: Row | null): void {
    const before = this.#log.get(key)
    if (row === null) {
      if (!this.#log.remove(key)) return
      this.#keys.delete(key)
    } else {
      if (before !== undefined && areEqual(before, row)) return
      this.#log.set(key, row)
      this.#keys.add(key)
    }
    this.#source.changed?.(key, before, row ?? undefined)
  }

  get(key: string): Row | undefined {
    return this.#log.get(key)
  }

  get size(): number {
    return this.#log.size
  }

  *values(): Iterable<Row> {
    for (const key of this.#keys) yield this.#log.get(key) as Row
  }

  /** Returns the changes since a cursor; see {@link DeltaLog.read}. */
  read(since: string | undefined, limit: number): Delta<Row> {
    this.refresh()
    return this.#log.read(since, limit)
  }
}

function areEqual<Row extends object>(one: Row, other: Row): boolean {
  const keys = Object.keys(one) as (keyof Row)[]
  return keys.length === Object.keys(other).length && keys.every(key => one[key] === other[key])
}
