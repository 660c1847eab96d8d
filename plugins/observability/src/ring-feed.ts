import type { Delta, DeltaInput } from '@svc/plugin-sdk'

/** Maximum size of the rows of one answer, in characters of JSON. */
const MAX_CHARACTERS = 150_000

/** Row of a feed; `key` is the number of the item. */
export type FeedRow<Row> = Row & { readonly key: string }

/** Items of a ring, numbered in the order in which they were added. */
export interface NumberedItems<A> {
  /** Number of the oldest item. */
  readonly oldest: number
  /** Number of the next item. */
  readonly added: number
  at(number: number): A
}

/**
 * Reads the items of a ring as changes since a cursor: rows are added at the end and removed at the beginning. Unlike a
 * `DeltaLog`, it stores nothing. A row whose item has no content, such as an invalid line, is left out.
 */
export class RingFeed<A, Row> {
  /** Distinguishes this feed's cursors from those of an earlier process. */
  readonly #id = Math.random().toString(36).slice(2, 10)
  readonly #ring: NumberedItems<A>
  readonly #toRow: (item: A) => Row | null

  constructor(ring: NumberedItems<A>, toRow: (item: A) => Row | null) {
    this.#ring = ring
    this.#toRow = toRow
  }

  read({ since, limit }: DeltaInput): Delta<FeedRow<Row>> {
    const { oldest, added } = this.#ring
    const cursor = this.#parse(since)
    const removed = cursor === null ? 0 : oldest - cursor.first
    // Rows that the reader does not have are not removed one by one.
    const reset = cursor === null || removed > limit || cursor.next < oldest
    const remove = reset ? [] : Array.from({ length: removed }, (_, at) => String(cursor.first + at))
    const upsert: FeedRow<Row>[] = []
    let next = reset ? oldest : cursor.next
    for (let size = 0; next < added && upsert.length + remove.length < limit && size < MAX_CHARACTERS; next++) {
      const row = this.#toRow(this.#ring.at(next))
      if (row === null) continue
      upsert.push({ ...row, key: String(next) })
      size += JSON.stringify(row).length
    }
    return { cursor: `${this.#id}.${oldest}.${next}`, reset, upsert, remove, more: next < added }
  }

  /** Returns the oldest and the next number that the reader knows; null if it has to read everything. */
  #parse(since: string | undefined): { readonly first: number; readonly next: number } | null {
    const [id, first = '', next = ''] = (since ?? '').split('.', 3)
    const known = { first: Number(first), next: Number(next) }
    const isValid =
      id === this.#id &&
      Number.isSafeInteger(known.first) &&
      Number.isSafeInteger(known.next) &&
      known.first >= 0 &&
      known.first <= this.#ring.oldest &&
      known.next >= known.first &&
      known.next <= this.#ring.added
    return isValid ? known : null
  }
}
