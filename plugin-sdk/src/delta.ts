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

/**
 * Collection that knows what changed since a cursor. Each key has the revision of its last change; removed keys are
 * remembered up to a limit, and older cursors read everything again.
 */
export class DeltaLog<Row> {
  /** Distinguishes this log's cursors from those of an earlier instance. */
  readonly #id = Math.random().toString(36).slice(2, 10)
  readonly #maxTombstones: number
  /** Rows by key, in the order of their revision: a changed key moves to the end. */
  readonly #rows = new Map<string, { readonly revision: number; readonly row: Row }>()
  /** Revisions of removed keys, ascending. */
  readonly #removed = new Map<string, number>()
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
    this.#revision += 1
    this.#rows.delete(key)
    this.#removed.delete(key)
    this.#rows.set(key, { revision: this.#revision, row })
  }

  /** Removes a row. Returns false if there is none. */
  remove(key: string): boolean {
    if (!this.#rows.delete(key)) return false
    this.#revision += 1
    this.#removed.set(key, this.#revision)
    if (this.#removed.size > this.#maxTombstones) {
      const [oldest] = this.#removed as Iterable<[string, number]> as [[string, number]]
      this.#removed.delete(oldest[0])
      this.#oldest = oldest[1]
    }
    return true
  }

  /** Returns the changes since a cursor, at most `limit` rows and removed keys together. */
  read(since?: string, limit = MAX_LIMIT): Delta<Row> {
    const from = this.#parse(since)
    const begin = from ?? 0
    const changes: { readonly revision: number; readonly key: string; readonly row?: Row }[] = []
    // Both maps ascend by revision; the newest changes are at the end.
    for (const [key, { revision, row }] of this.#rows) if (revision > begin) changes.push({ revision, key, row })
    if (from !== null)
      for (const [key, revision] of this.#removed) if (revision > begin) changes.push({ revision, key })
    changes.sort((a, b) => a.revision - b.revision)
    const page = changes.slice(0, limit)
    const more = page.length < changes.length
    const upTo = more ? (page[page.length - 1] as { revision: number }).revision : this.#revision
    return {
      cursor: `${this.#id}.${upTo}`,
      reset: from === null,
      upsert: page.filter(change => 'row' in change).map(change => change.row as Row),
      remove: page.filter(change => !('row' in change)).map(change => change.key),
      more
    }
  }

  /** Returns the revision of a cursor; null if everything has to be read again. */
  #parse(since: string | undefined): number | null {
    const [id, text = ''] = (since ?? '').split('.', 2)
    const revision = Number(text)
    if (id !== this.#id || !Number.isSafeInteger(revision) || revision < this.#oldest || revision > this.#revision)
      return null
    return revision
  }
}
