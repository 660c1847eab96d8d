import { defineOperation, type Operation, type OperationDefinition, type Watch } from './operation.ts'
import { type Schema, type SchemaLike, t, toJsonSchema } from './schema.ts'

/** Changes of a collection since a cursor. */
export interface Delta<Row> {
  /** Pass it as `since` for the changes after these. */
  readonly cursor: string
  /** True if the rows replace all earlier ones: the first read, or the cursor is unknown or too old. */
  readonly reset: boolean
  readonly upsert: readonly Row[]
  /** Keys of removed rows. */
  readonly remove: readonly string[]
  /** True if more changes follow: read again with the new cursor. */
  readonly more: boolean
}

/** Input of a delta operation. */
export interface DeltaInput {
  /** Cursor of the last delta; absent for all rows. */
  readonly since?: string | undefined
  /** Maximum number of rows and removed keys; default 1,000. */
  readonly limit: number
}

const MAX_LIMIT = 1_000

export interface DeltaDefinition<Id extends string, Row, RowInput>
  extends Omit<
    OperationDefinition<Id, DeltaInput, Partial<DeltaInput>, Delta<Row>, Delta<RowInput>, any, never>,
    'input' | 'output' | 'events' | 'effect' | 'watch'
  > {
  readonly row: SchemaLike<Row, RowInput>
  readonly watch: Omit<Watch, 'mode'>
}

/** Declares a `read` operation that returns the changes of a collection. Its handler is a {@link DeltaLog}'s `read`. */
export function deltaOperation<const Id extends string, Row, RowInput>({
  row,
  watch,
  ...definition
}: DeltaDefinition<Id, Row, RowInput>): Operation<
  Id,
  DeltaInput,
  Partial<DeltaInput>,
  Delta<Row>,
  Delta<RowInput>,
  any,
  never
> {
  return defineOperation({
    ...definition,
    effect: 'read',
    watch: { ...watch, mode: 'delta' },
    input: t.object({
      since: t.optional(t.string({ maxLength: 64, description: 'Cursor of the last answer; absent for all rows' })),
      limit: t.integer({ default: MAX_LIMIT, minimum: 1, maximum: MAX_LIMIT, description: 'Maximum number of changes' })
    }),
    output: t.object({
      cursor: t.string(),
      reset: t.boolean(),
      upsert: t.array(toJsonSchema(row) as Schema<Row, RowInput>),
      remove: t.array(t.string()),
      more: t.boolean()
    })
  }) as never
}

const MAX_TOMBSTONES = 10_000
/** Number of superseded changes that the journal of a small collection may hold. */
const MIN_SUPERSEDED = 1_000

interface Change<Row> {
  readonly revision: number
  readonly key: string
  /** Absent: the key was removed. Undefined once the change is superseded, since it may stay in the journal for long. */
  row?: Row | undefined
}

/**
 * Collection that knows what changed since a cursor. Each key has the revision of its last change; removed keys are
 * remembered up to a limit, and older cursors read everything again.
 *
 * `set` and `remove` take constant time, amortised. `read` takes time in proportion to the changes that it returns, plus
 * the superseded ones between them.
 */
export class DeltaLog<Row> {
  /** Distinguishes this log's cursors from those of an earlier instance. */
  readonly #id = Math.random().toString(36).slice(2, 10)
  readonly #maxTombstones: number
  /** Last change of each key that has a row. */
  readonly #rows = new Map<string, Change<Row>>()
  /** Last change of each removed key, by ascending revision. */
  readonly #removed = new Map<string, Change<Row>>()
  /** All changes by ascending revision. Those that are in neither map are superseded. */
  #journal: Change<Row>[] = []
  #revision = 0
  /** Cursors before this revision are too old: a removal after them is forgotten. */
  #oldest = 0

  constructor({ maxTombstones = MAX_TOMBSTONES }: { readonly maxTombstones?: number } = {}) {
    this.#maxTombstones = maxTombstones
  }

  get size(): number {
    return this.#rows.size
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key)?.row
  }

  /** Adds or replaces a row. */
  set(key: string, row: Row): void {
    const change: Change<Row> = { revision: this.#next(), key, row }
    this.#dropRow(key)
    this.#removed.delete(key)
    this.#rows.set(key, change)
    this.#record(change)
  }

  /** Removes a row. Returns false if there is none. */
  remove(key: string): boolean {
    this.#dropRow(key)
    if (!this.#rows.delete(key)) return false
    const change: Change<Row> = { revision: this.#next(), key }
    this.#removed.set(key, change)
    if (this.#removed.size > this.#maxTombstones) {
      const [oldest] = this.#removed.values() as Iterable<Change<Row>> as [Change<Row>]
      this.#removed.delete(oldest.key)
      this.#oldest = oldest.revision
    }
    this.#record(change)
    return true
  }

  /** Replaces all rows. Equal rows, compared as JSON, are not changes; rows that are missing are removed. */
  replaceAll(rows: Iterable<Row>, keyOf: (row: Row) => string): void {
    const kept = new Set<string>()
    for (const row of rows) {
      const key = keyOf(row)
      kept.add(key)
      const before = this.#rows.get(key)?.row
      if (before === undefined || JSON.stringify(before) !== JSON.stringify(row)) this.set(key, row)
    }
    for (const key of [...this.#rows.keys()]) if (!kept.has(key)) this.remove(key)
  }

  /** Returns the changes since a cursor, at most `limit` rows and removed keys together; `limit` is at least 1. */
  read(since?: string, limit = MAX_LIMIT): Delta<Row> {
    if (!(limit >= 1)) throw new RangeError(`limit is ${limit}; it must be at least 1`)
    const from = this.#parse(since)
    const { after, begun } = from ?? { after: 0, begun: this.#revision }
    const upsert: Row[] = []
    const remove: string[] = []
    let last = after
    let more = false
    for (let at = this.#positionAfter(after); at < this.#journal.length; at++) {
      const change = this.#journal[at] as Change<Row>
      // A client that began to read later never had the removed row.
      if (!this.#isLast(change) || (!('row' in change) && change.revision <= begun)) continue
      if (upsert.length + remove.length >= limit) {
        more = true
        break
      }
      last = change.revision
      if ('row' in change) upsert.push(change.row as Row)
      else remove.push(change.key)
    }
    const cursor = !more ? this.#revision : last >= begun ? last : `${last}.${begun}`
    return { cursor: `${this.#id}.${cursor}`, reset: from === null, upsert, remove, more }
  }

  #dropRow(key: string): void {
    const change = this.#rows.get(key)
    if (change !== undefined) change.row = undefined
  }

  #next(): number {
    this.#revision += 1
    return this.#revision
  }

  #record(change: Change<Row>): void {
    this.#journal.push(change)
    const live = this.#rows.size + this.#removed.size
    if (this.#journal.length > 2 * live + MIN_SUPERSEDED)
      this.#journal = this.#journal.filter(each => this.#isLast(each))
  }

  #isLast(change: Change<Row>): boolean {
    return (this.#rows.get(change.key) ?? this.#removed.get(change.key)) === change
  }

  /** Returns the index of the first journal entry after a revision. */
  #positionAfter(revision: number): number {
    let [low, high] = [0, this.#journal.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#journal[middle] as Change<Row>).revision <= revision) low = middle + 1
      else high = middle
    }
    return low
  }

  /**
   * Returns the position of a cursor; null if everything has to be read again. `after`: the client has the changes up to
   * this revision. `begun`: revision at which it began to read all rows, while it has not yet read them; else `after`.
   */
  #parse(since: string | undefined): { readonly after: number; readonly begun: number } | null {
    const [id, ...numbers] = (since ?? '').split('.', 4)
    if (id !== this.#id || numbers.length < 1 || numbers.length > 2) return null
    if (!numbers.every(each => /^\d{1,15}$/.test(each))) return null
    const [after = 0, begun = after] = numbers.map(Number)
    return after <= begun && begun >= this.#oldest && begun <= this.#revision ? { after, begun } : null
  }
}
