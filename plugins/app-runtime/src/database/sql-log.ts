import { isSvcError } from '@svc/plugin-sdk'

/** A statement that ran in a call. Plain data, to be sent to another thread. */
export interface LoggedStatement {
  readonly sql: string
  /** Milliseconds after the start of the call. */
  readonly offset: number
  readonly ms: number
  /** Number of bound values. */
  readonly values: number
  /** Number of returned rows; null after a failure. */
  readonly rows: number | null
  /** Number of changed rows; null after a failure. */
  readonly changed: number | null
  /** Code of the failure. */
  readonly error: string | null
}

/** Rows that a statement returned and changed. */
export interface RowCounts {
  readonly rows: number
  readonly changed: number
}

export const NO_ROWS: RowCounts = { rows: 0, changed: 0 }

/** Maximum statements of one call that are remembered. */
const MAX_STATEMENTS = 200
/** Numbers of a statement: its start, milliseconds, bound values, returned rows and changed rows. */
const FIELDS = 5

/**
 * Statements of the call that runs in this thread. Each costs two clock readings and an entry in reused arrays, so that
 * every call is logged; only those of failed, slow and recorded calls are read.
 */
export class SqlLog {
  readonly #sql: string[] = []
  readonly #numbers = new Float64Array(FIELDS * MAX_STATEMENTS)
  readonly #errors: (string | null)[] = []
  #count = 0
  #started = 0

  /** Begins a call. `started`: in milliseconds of `performance.now()`. */
  begin(started: number): void {
    this.#started = started
    this.#count = 0
  }

  /** Adds a statement that has ended now. `started`: in milliseconds of `performance.now()`. */
  add(sql: string, values: number, started: number, counts: RowCounts, error: unknown = null): void {
    const at = this.#count++
    if (at >= MAX_STATEMENTS) return
    const numbers = this.#numbers
    const first = FIELDS * at
    this.#sql[at] = sql
    numbers[first] = started
    numbers[first + 1] = performance.now() - started
    numbers[first + 2] = values
    numbers[first + 3] = counts.rows
    numbers[first + 4] = counts.changed
    this.#errors[at] = error === null ? null : isSvcError(error) ? error.code : 'DBS_FAILED'
  }

  /** Removes the last statement: it was an attempt that does not count. */
  forget(): void {
    this.#count -= 1
  }

  /** Returns the statements of the call, at most {@link MAX_STATEMENTS}. */
  read(): LoggedStatement[] {
    const number = (at: number, field: number): number => this.#numbers[FIELDS * at + field] as number
    return Array.from({ length: Math.min(this.#count, MAX_STATEMENTS) }, (_, at) => {
      const error = this.#errors[at] ?? null
      return {
        sql: this.#sql[at] as string,
        offset: number(at, 0) - this.#started,
        ms: number(at, 1),
        values: number(at, 2),
        rows: error === null ? number(at, 3) : null,
        changed: error === null ? number(at, 4) : null,
        error
      }
    })
  }

  /** Number of statements of the call. */
  get count(): number {
    return this.#count
  }
}
