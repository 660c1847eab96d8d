import type { DatabaseCapabilities, SqlParameter, SqlResult, SqlValue, ThreadConnection } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { fail } from '../interpreter/failure.ts'
import { databaseFailure } from './database-failure.ts'
import { countsOf, countsOfRows, LazyConnection } from './lazy-connection.ts'
import type { RawSqlUse } from './raw-sql-use.ts'
import type { SearchNeed } from './search-sql.ts'
import type { RowCounts, SqlLog } from './sql-log.ts'

/** Remaining time of the running program. */
export interface RunningTime {
  /** Remaining milliseconds. */
  left(): number
  /** The total limit and its setting, for messages. */
  limit(): string
}

export interface ProgramDatabaseOptions {
  readonly connection: ThreadConnection
  /** Path or URL; not shown to programs. */
  readonly location: string
  readonly capabilities: Pick<DatabaseCapabilities, 'fts' | 'vector'>
  /** Connection for raw SQL, which may not terminate; default: the same connection. */
  readonly outOfProcess?: { readonly connection: ThreadConnection; readonly sql: RawSqlUse } | null
  /** Receives the time limit of statements. */
  readonly bound?: (time: RunningTime) => void
  /** Called before each commit, and before each write outside transactions. */
  readonly onStore?: () => void
  /** Receives the statements; default: a new log. */
  readonly log?: SqlLog
}

/**
 * The database of a program in this thread. Outside `transaction`, every write commits separately. Throws a `RunError`
 * without a position.
 */
export class ProgramDatabase {
  /** Number of SQL statements so far, without those that begin and end transactions. */
  statements = 0
  readonly #connection: LazyConnection
  readonly #location: string
  readonly #capabilities: ProgramDatabaseOptions['capabilities']
  readonly #sql: RawSqlUse | null
  readonly #bound: ProgramDatabaseOptions['bound']
  readonly #onStore: () => void

  constructor({
    connection,
    location,
    capabilities,
    outOfProcess = null,
    bound,
    onStore,
    log
  }: ProgramDatabaseOptions) {
    const other =
      outOfProcess === null ? null : { connection: outOfProcess.connection, isInActors: outOfProcess.sql.isInActors }
    this.#connection = new LazyConnection(connection, other, onStore, log)
    this.#sql = outOfProcess?.sql ?? null
    this.#bound = bound
    this.#onStore = onStore ?? (() => undefined)
    this.#location = location
    this.#capabilities = capabilities
  }

  /** Statements of the running call. */
  get log(): SqlLog {
    return this.#connection.log
  }

  /** Connection for state such as actors. Writes join the open transaction. Throws the errors of the store. */
  get connection(): ThreadConnection {
    return this.#connection
  }

  /**
   * Runs a function in one transaction. It is committed on return, unless `keeps` rejects the result, and rolled back
   * on an exception. `write` takes the write lock with its first statement; `read` sees one snapshot and cannot write.
   * Inside another transaction, `run` joins that one. `name`: the function's name, or the route's method and path.
   */
  transaction<A>(kind: 'read' | 'write', run: () => A, keeps: (result: A) => boolean = () => true, name = ''): A {
    return this.#mapErrors('the database', () => this.#connection.within(kind, run, keeps, this.isOutOfProcess(name)))
  }

  /** True if the transaction of a function runs in the database process. */
  isOutOfProcess(name: string): boolean {
    return this.#sql?.reaches(name) ?? false
  }

  /** Sets the time limit of statements. */
  bound(time: RunningTime): void {
    this.#bound?.(time)
  }

  get isInTransaction(): boolean {
    return this.#connection.inTransaction
  }

  get hasSavepoints(): boolean {
    return this.#connection.hasSavepoints
  }

  /** Commits the transactions of `run` as a group; see `LazyConnection.groupCommit`. */
  groupCommit(run: () => void): void {
    this.#mapErrors('the database', () => this.#connection.groupCommit(run))
  }

  row(table: string, sql: string, parameters: readonly SqlParameter[]): readonly SqlValue[] | null {
    this.statements++
    try {
      return this.#connection.row(sql, parameters)
    } catch (error) {
      throw databaseFailure(error, table, this.#location)
    }
  }

  rows(table: string, sql: string, parameters: readonly SqlParameter[]): readonly (readonly SqlValue[])[] {
    this.statements++
    try {
      return this.#connection.rows(sql, parameters)
    } catch (error) {
      throw databaseFailure(error, table, this.#location)
    }
  }

  execute(table: string, sql: string, parameters: readonly SqlParameter[]): SqlResult {
    this.statements++
    try {
      return this.#connection.execute(sql, parameters)
    } catch (error) {
      throw databaseFailure(error, table, this.#location)
    }
  }

  /** Runs SQL of the program, which may read or write. */
  raw(sql: string, parameters: readonly SqlParameter[]): SqlResult {
    this.statements++
    return this.#mapErrors('the database', () => {
      try {
        return this.#raw(sql, parameters, countsOf, connection => connection.query(sql, parameters))
      } catch (error) {
        if (!isSvcError(error, 'DBS_READ_ONLY') || this.#connection.kind === 'read') throw error
        this.#connection.log.forget()
        if (this.#connection.kind === null) this.#onStore()
        return this.#raw(sql, parameters, countsOf, connection => connection.execute(sql, parameters))
      }
    })
  }

  /** Queries rows with SQL that is partly written by the program. */
  rawRows(table: string, sql: string, parameters: readonly SqlParameter[]): readonly (readonly SqlValue[])[] {
    this.statements++
    return this.#mapErrors(table, () =>
      this.#raw(sql, parameters, countsOfRows, connection => connection.rows(sql, parameters))
    )
  }

  /** Updates a replica, outside write transactions. */
  sync(): void {
    this.#mapErrors('the database', () => this.#connection.sync())
  }

  /** Throws `RUN_UNSUPPORTED` if the database lacks a feature of the search. */
  assertCan(needs: readonly SearchNeed[], table: string): void {
    const missing = needs.find(need => !this.#capabilities[need])
    if (missing === undefined) return
    const feature = missing === 'fts' ? 'full-text search' : 'vectors'
    fail('RUN_UNSUPPORTED', `${table}: the database has no ${feature}; use a local file`)
  }

  close(): void {
    this.#connection.close()
  }

  /** Runs SQL of the program. The connection of this thread logs its statements itself. */
  #raw<A>(
    sql: string,
    parameters: readonly SqlParameter[],
    counts: (result: A) => RowCounts,
    run: (connection: ThreadConnection) => A
  ): A {
    const connection = this.#connection.forRawSql
    return connection === this.#connection
      ? run(connection)
      : this.#connection.logged(sql, parameters, counts, () => run(connection))
  }

  #mapErrors<A>(table: string, run: () => A): A {
    try {
      return run()
    } catch (error) {
      throw databaseFailure(error, table, this.#location)
    }
  }
}
