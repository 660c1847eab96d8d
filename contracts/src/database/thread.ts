import type { NativeGuard } from './native-guard.ts'
import type { SqlParameters, SqlResult, SqlValue } from './values.ts'

/**
 * How a thread opens a separate connection to the database: `module` is the path of a CommonJS module that exports
 * {@link ConnectThread} as `connect`, and `options`, which survive a structured clone, are what it is called with.
 */
export interface ThreadAccess {
  readonly module: string
  readonly options: unknown
}

/**
 * Throws `DBS_OPEN_FAILED` and `DBS_CORRUPT`. `waitMs`: milliseconds that a call waits for its turn, 0 for a thread that must
 * not be held up; default: as the settings of the database say. `guard`: for a thread that may be ended at any point.
 */
export type ConnectThread = (
  options: unknown,
  waitMs?: number,
  guard?: Pick<NativeGuard, 'enter' | 'leave'>
) => ThreadConnection

/**
 * A database as one thread has it: each call holds the thread until it is done. Other connections, in this process and in
 * others, see what is committed. Errors, parameters and results are those of `DatabaseStore`; a writer waits for its turn,
 * and throws `DBS_BUSY` when that takes too long.
 */
export interface ThreadConnection {
  /** Reads, in the transaction that is open, or else by itself. Throws `DBS_READ_ONLY` for what would write. */
  query(sql: string, parameters?: SqlParameters): SqlResult
  /** The rows of a query for who knows its columns: quicker. */
  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[]
  /** The first row of a query, null where it has none; the quickest. */
  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null
  /** Writes, in the open transaction, or else in a new one that is committed when it returns. */
  execute(sql: string, parameters?: SqlParameters): SqlResult
  /**
   * `read` sees one state of the database until it ends; `write` takes the turn of the writer at once.
   * Throws `DBS_NESTED` where one is open.
   */
  begin(kind: 'read' | 'write'): void
  commit(): void
  /** Nothing where none is open. */
  rollback(): void
  readonly inTransaction: boolean
  /**
   * A part of the transaction for writing that is open: what it wrote is undone, and nothing else, when it throws or when
   * `keeps` says so of its result. Absent where the database has no such parts.
   */
  part?<A>(run: () => A, keeps: (result: A) => boolean): A
  /** Brings a replica up to date; nothing for every other database. Throws `DBS_NESTED` within a transaction. */
  sync(): void
  close(): void
}
