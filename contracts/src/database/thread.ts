import type { NativeGuard } from './native-guard.ts'
import type { SqlParameters, SqlResult, SqlValue } from './values.ts'

/**
 * Data with which a thread opens its own connection to the database. `module` is the path of a CommonJS module that
 * exports {@link ConnectThread} as `connect`; `options` is its argument and can be cloned by structuredClone.
 */
export interface ThreadAccess {
  readonly module: string
  readonly options: unknown
}

/**
 * Opens a connection. Throws `DBS_OPEN_FAILED` or `DBS_CORRUPT`.
 * - `options`: those of {@link ThreadAccess}.
 * - `waitMs`: maximum wait for the write lock; 0 means no wait. Default: the setting of the database.
 * - `guard`: required if the thread may be terminated at any point.
 */
export type ConnectThread = (
  options: unknown,
  waitMs?: number,
  guard?: Pick<NativeGuard, 'enter' | 'leave'>
) => ThreadConnection

/**
 * Synchronous connection of one thread. Other connections, also of other processes, see committed changes. Errors,
 * parameters and results are those of `DatabaseStore`. A writer waits for the write lock, at most `waitMs`, then throws
 * `DBS_BUSY`.
 */
export interface ThreadConnection {
  /** Reads, in the open transaction if there is one. Throws `DBS_READ_ONLY` for a statement that writes. */
  query(sql: string, parameters?: SqlParameters): SqlResult
  /** Returns rows without column names; faster than `query`. */
  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[]
  /** Returns the first row, or null. The fastest way to read. */
  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null
  /** Writes, in the open transaction, or else in a new one that is committed when it returns. */
  execute(sql: string, parameters?: SqlParameters): SqlResult
  /**
   * Begins a transaction. `read` sees one snapshot until its end; `write` takes the write lock immediately. Throws
   * `DBS_NESTED` within a transaction.
   *
   * `isDurable`: false for a change that may be lost if the machine loses power, until a later transaction is committed.
   * It survives the end of the process. Not all databases use it.
   */
  begin(kind: 'read' | 'write', options?: { readonly isDurable?: boolean }): void
  commit(): void
  /** Does nothing without an open transaction. */
  rollback(): void
  readonly inTransaction: boolean
  /**
   * Runs `run` in a savepoint of the open write transaction. The savepoint is rolled back if `run` throws or `keeps`
   * returns false for its result. Absent if the database does not support savepoints.
   */
  savepoint?<A>(run: () => A, keeps: (result: A) => boolean): A
  /** Brings a replica up to date; does nothing for other databases. Throws `DBS_NESTED` within a transaction. */
  sync(): void
  close(): void
}
