import type { NativeGuard } from './native-guard.ts'
import type { SqlParameters, SqlResult, SqlValue } from './values.ts'

/**
 * How a thread opens a separate connection to the database: `module` is the path of a CommonJS module that exports
 * {@link ConnectThread} as `connect`, and `options` are its argument, which survives a structured clone.
 */
export interface ThreadAccess {
  readonly module: string
  readonly options: unknown
}

/**
 * Throws `DBS_OPEN_FAILED` and `DBS_CORRUPT`. `waitMs`: limit of the wait for the write lock, 0 for none; default: the
 * setting of the database. `guard`: for a thread that may be terminated at any point.
 */
export type ConnectThread = (
  options: unknown,
  waitMs?: number,
  guard?: Pick<NativeGuard, 'enter' | 'leave'>
) => ThreadConnection

/**
 * A synchronous connection of one thread. Other connections, also of other processes, see committed changes. Errors,
 * parameters and results are those of `DatabaseStore`. A writer waits for the lock and throws `DBS_BUSY` at the limit.
 */
export interface ThreadConnection {
  /** Reads, in the open transaction if there is one. Throws `DBS_READ_ONLY` for a statement that writes. */
  query(sql: string, parameters?: SqlParameters): SqlResult
  /** Rows without column names; faster than `query`. */
  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[]
  /** Returns the first row, or null. The fastest way to read. */
  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null
  /** Writes, in the open transaction, or else in a new one that is committed when it returns. */
  execute(sql: string, parameters?: SqlParameters): SqlResult
  /**
   * `read` sees one snapshot until it ends; `write` takes the write lock immediately. Throws `DBS_NESTED` within a
   * transaction.
   */
  begin(kind: 'read' | 'write'): void
  commit(): void
  /** Does nothing without an open transaction. */
  rollback(): void
  readonly inTransaction: boolean
  /**
   * Runs `run` in a savepoint of the open write transaction. The savepoint is rolled back if `run` throws or `keeps` returns
   * false for its result. Absent where the database has no savepoints.
   */
  savepoint?<A>(run: () => A, keeps: (result: A) => boolean): A
  /** Brings a replica up to date; does nothing for other databases. Throws `DBS_NESTED` within a transaction. */
  sync(): void
  close(): void
}
