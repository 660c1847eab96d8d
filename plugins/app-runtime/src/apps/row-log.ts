import { randomUUID } from 'node:crypto'
import type { Delta } from '@svc/plugin-sdk'

/** Contents of a log, which outlive a reload of the plugin. Plain data, so that they keep no code in memory. */
export interface RowLogState<Row> {
  /** Distinguishes this log's cursors from those of an earlier process. */
  readonly id: string
  readonly rows: (Row | undefined)[]
  /** Number of all rows so far. */
  count: number
}

export interface Numbered {
  /** Position in the log, ascending; the key of the row. */
  readonly id: string
}

/**
 * The newest rows, as a ring. Each has a number, which is its key and the cursor of a reader. Recording a row takes
 * constant time.
 */
export class RowLog<Row> {
  readonly #state: RowLogState<Row>

  constructor(state: RowLogState<Row>) {
    this.#state = state
  }

  /** Adds a row, which must not change afterwards. */
  record(row: Row): void {
    const state = this.#state
    state.rows[state.count % state.rows.length] = row
    state.count++
  }

  /** Returns the rows since a cursor, oldest first, and the keys that have left the ring. */
  read(since?: string, limit = 1000): Delta<Row & Numbered> {
    const { id, rows, count } = this.#state
    const { length } = rows
    const oldest = Math.max(0, count - length)
    const from = this.#parse(since)
    const begin = Math.max(from ?? 0, oldest)
    const end = Math.min(count, begin + limit)
    const upsert: (Row & Numbered)[] = []
    for (let at = begin; at < end; at++) upsert.push({ id: String(at), ...(rows[at % length] as Row) })
    // A reader at `from` has the rows from `from - length` on. Of these, the ones before `oldest` are gone.
    const gone = from === null ? [] : numbers(Math.max(0, from - length), Math.min(from, oldest))
    return { cursor: `${id}.${end}`, reset: from === null, upsert, remove: gone, more: end < count }
  }

  #parse(since: string | undefined): number | null {
    const [id, text = ''] = (since ?? '').split('.', 2)
    const number = Number(text)
    const isKnown = id === this.#state.id && Number.isSafeInteger(number) && number >= 0 && number <= this.#state.count
    return isKnown ? number : null
  }
}

export function rowLogState<Row>(capacity: number): RowLogState<Row> {
  return {
    id: randomUUID().slice(0, 8),
    rows: new Array<Row | undefined>(capacity).fill(undefined),
    count: 0
  }
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => String(from + index))
}
