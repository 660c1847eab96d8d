import { isSvcError } from '@svc/plugin-sdk'

/** A statement that ran in a call. Plain data, to be sent to another thread. */
export interface LoggedStatement {
  readonly sql: string
  /** Milliseconds after the start of the call. */
  readonly offset: number
  readonly ms: number
  /** Returned or changed rows; null after a failure. */
  readonly rows: number | null
  /** Code of the failure. */
  readonly error: string | null
}

/** Maximum statements of one call that are remembered. */
const MAX_STATEMENTS = 200

/**
 * Statements of the call that runs in this thread. Each costs two clock readings and an entry in reused arrays, so that
 * every call is logged; only those of failed, slow and recorded calls are read.
 */
export class SqlLog {
  readonly #sql: string[] = []
  readonly #numbers = new Float64Array(3 * MAX_STATEMENTS)
  readonly #errors: (string | null)[] = []
  #count = 0
  #started = 0

  /** Begins a call. `started`: in milliseconds of `performance.now()`. */
  begin(started: number): void {
    this.#started = started
    this.#count = 0
  }

  /** Adds a statement that has ended now. `started`: in milliseconds of `performance.now()`. */
  add(sql: string, started: number, rows: number, error: unknown = null): void {
    const at = this.#count++
    if (at >= MAX_STATEMENTS) return
    this.#sql[at] = sql
    this.#numbers[3 * at] = started
    this.#numbers[3 * at + 1] = performance.now() - started
    this.#numbers[3 * at + 2] = rows
    this.#errors[at] = error === null ? null : isSvcError(error) ? error.code : 'DBS_FAILED'
  }

  /** Removes the last statement: it was an attempt that does not count. */
  forget(): void {
    this.#count -= 1
  }

  /** Returns the statements of the call, at most {@link MAX_STATEMENTS}. */
  read(): LoggedStatement[] {
    const number = (at: number, field: number): number => this.#numbers[3 * at + field] as number
    return Array.from({ length: Math.min(this.#count, MAX_STATEMENTS) }, (_, at) => {
      const error = this.#errors[at] ?? null
      return {
        sql: this.#sql[at] as string,
        offset: number(at, 0) - this.#started,
        ms: number(at, 1),
        rows: error === null ? number(at, 2) : null,
        error
      }
    })
  }

  /** Number of statements of the call. */
  get count(): number {
    return this.#count
  }
}
