import {
  databaseErrors,
  type SqlParameters,
  type SqlResult,
  type SqlValue,
  type ThreadConnection
} from '@svc/contracts'
import { NO_ROWS, type RowCounts, SqlLog } from './sql-log.ts'

type Kind = 'read' | 'write'

export function countsOf({ rows, changes }: SqlResult): RowCounts {
  return { rows: rows.length, changed: changes }
}

export function countsOfRows(rows: readonly unknown[]): RowCounts {
  return { rows: rows.length, changed: 0 }
}

const ONE_ROW: RowCounts = { rows: 1, changed: 0 }

function countsOfRow(row: unknown): RowCounts {
  return row === null ? NO_ROWS : ONE_ROW
}

function valuesOf(parameters: SqlParameters | undefined): number {
  if (parameters === undefined) return 0
  return Array.isArray(parameters) ? parameters.length : Object.keys(parameters).length
}

/** A connection in another process to the same database, for SQL that may not terminate. */
export interface OutOfProcess {
  readonly connection: ThreadConnection
  /** True if transactions of actors, opened by `begin`, run in that process. */
  readonly isInActors: boolean
}

/**
 * A connection whose transactions begin with their first statement, so code without SQL does not wait for a lock.
 * The store of the program's actors shares this connection.
 */
export class LazyConnection implements ThreadConnection {
  /** Statements of the running call. */
  readonly log: SqlLog
  readonly #own: ThreadConnection
  /** Connection for SQL that may not terminate; null if all SQL runs on one connection. */
  readonly #outOfProcess: OutOfProcess | null
  /** Called before each commit, and before each write outside transactions. */
  readonly #onStore: () => void
  /** True while the open transaction runs in the other process. */
  #isOutOfProcess = false
  /** Kind of the open transaction, which may not have begun in the database yet. */
  #kind: Kind | null = null
  /** True while transactions are savepoints of a group commit. */
  #isGroup = false

  constructor(
    connection: ThreadConnection,
    outOfProcess: OutOfProcess | null = null,
    onStore: () => void = () => undefined,
    log = new SqlLog()
  ) {
    this.log = log
    this.#own = connection
    this.#outOfProcess = outOfProcess
    this.#onStore = onStore
  }

  /** See `ProgramDatabase.transaction`. */
  within<A>(kind: Kind, run: () => A, keeps: (result: A) => boolean, isOutOfProcess = false): A {
    if (this.#isGroup) return this.#inSavepoint(run, keeps)
    if (this.#kind !== null) return run()
    this.#kind = kind
    this.#isOutOfProcess = isOutOfProcess
    let result: A
    let isKept: boolean
    try {
      result = run()
      isKept = keeps(result)
    } catch (error) {
      this.rollback()
      throw error
    }
    if (isKept) this.commit()
    else this.rollback()
    return result
  }

  /** True if transactions can be committed as a group. */
  get hasSavepoints(): boolean {
    return this.#own.savepoint !== undefined
  }

  /**
   * Runs each transaction of `run` as a savepoint in one outer transaction, which is committed at the end.
   * A savepoint can be rolled back separately. If the commit fails, all are rolled back and the error is thrown.
   */
  groupCommit(run: () => void): void {
    this.#kind = 'write'
    this.#isOutOfProcess = false
    this.#isGroup = true
    try {
      run()
    } catch (error) {
      this.#isGroup = false
      this.rollback()
      throw error
    }
    this.#isGroup = false
    this.commit()
  }

  #inSavepoint<A>(run: () => A, keeps: (result: A) => boolean): A {
    this.#beginIfNeeded()
    this.#isGroup = false
    try {
      return this.#connection.savepoint === undefined ? run() : this.#connection.savepoint(run, keeps)
    } finally {
      this.#isGroup = true
    }
  }

  /** Connection for SQL that may not terminate: that of the open transaction, else that of the other process. */
  get forRawSql(): ThreadConnection {
    return this.#kind === null && this.#outOfProcess !== null ? this.#outOfProcess.connection : this
  }

  get kind(): Kind | null {
    return this.#kind
  }

  get inTransaction(): boolean {
    return this.#kind !== null
  }

  query(sql: string, parameters?: SqlParameters): SqlResult {
    return this.logged(sql, parameters, countsOf, () => {
      this.#beginIfNeeded()
      return this.#connection.query(sql, parameters)
    })
  }

  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[] {
    return this.logged(sql, parameters, countsOfRows, () => {
      this.#beginIfNeeded()
      return this.#connection.rows(sql, parameters)
    })
  }

  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null {
    return this.logged(sql, parameters, countsOfRow, () => {
      this.#beginIfNeeded()
      return this.#connection.row(sql, parameters)
    })
  }

  execute(sql: string, parameters?: SqlParameters): SqlResult {
    if (this.#kind === null) this.#onStore()
    return this.logged(sql, parameters, countsOf, () => {
      this.#beginIfNeeded()
      return this.#connection.execute(sql, parameters)
    })
  }

  /** Runs a statement and logs it, its wait for a lock included. `counts`: counts the rows of its result. */
  logged<A>(sql: string, parameters: SqlParameters | undefined, counts: (result: A) => RowCounts, run: () => A): A {
    const started = performance.now()
    const values = valuesOf(parameters)
    try {
      const result = run()
      this.log.add(sql, values, started, counts(result))
      return result
    } catch (error) {
      this.log.add(sql, values, started, NO_ROWS, error)
      throw error
    }
  }

  begin(kind: Kind, options?: Parameters<ThreadConnection['begin']>[1]): void {
    if (this.#kind !== null) throw databaseErrors.create('DBS_NESTED', 'this thread already has an open transaction')
    this.#isOutOfProcess = this.#outOfProcess?.isInActors ?? false
    this.#connection.begin(kind, options)
    this.#kind = kind
  }

  commit(): void {
    const isWrite = this.#kind === 'write'
    const connection = this.#end()
    if (!connection.inTransaction) return
    if (isWrite) this.#onStore()
    this.logged(
      'COMMIT',
      undefined,
      () => NO_ROWS,
      () => connection.commit()
    )
  }

  rollback(): void {
    this.#end().rollback()
  }

  /** Updates the replica. Ends the current read snapshot; does nothing in a write transaction. */
  sync(): void {
    if (this.#kind === 'write') return
    if (this.#connection.inTransaction) this.#connection.commit()
    this.#connection.sync()
  }

  close(): void {
    this.#kind = null
    this.#own.close()
    this.#outOfProcess?.connection.close()
  }

  /** Marks the transaction as ended, and returns its connection. */
  #end(): ThreadConnection {
    const connection = this.#connection
    this.#kind = null
    this.#isOutOfProcess = false
    return connection
  }

  get #connection(): ThreadConnection {
    return this.#isOutOfProcess && this.#outOfProcess !== null ? this.#outOfProcess.connection : this.#own
  }

  #beginIfNeeded(): void {
    if (this.#kind !== null && !this.#connection.inTransaction) this.#connection.begin(this.#kind)
  }
}
