import type { DatabaseCapabilities, SqlParameter, SqlResult, SqlValue, ThreadConnection } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { fail } from '../interpreter/failure.ts'
import { databaseFailure } from './database-failure.ts'
import { LazyConnection } from './lazy-connection.ts'
import type { RawSqlUse } from './raw-sql-use.ts'
import type { SearchNeed } from './search-sql.ts'

/** Limits of the running program's waits. */
export interface RunningTime {
  /** Milliseconds that it has left. */
  left(): number
  /** For messages: all of it, and where that is set. */
  limit(): string
}

export interface ProgramDatabaseOptions {
  readonly connection: ThreadConnection
  /** Path or URL, left out of messages to programs. */
  readonly location: string
  readonly capabilities: Pick<DatabaseCapabilities, 'fts' | 'vector'>
  /** For SQL of the program's own, which may have no end; default: the same connection. */
  readonly outOfProcess?: { readonly connection: ThreadConnection; readonly sql: RawSqlUse } | null
  /** Called with the time left for statements. */
  readonly bound?: (time: RunningTime) => void
}

/**
 * The database as a program of this thread has it. Outside of `transaction` every write commits by itself. Throws Failures
 * without a place.
 */
export class ProgramDatabase {
  readonly #connection: LazyConnection
  readonly #location: string
  readonly #capabilities: ProgramDatabaseOptions['capabilities']
  readonly #sql: RawSqlUse | null
  readonly #bound: ProgramDatabaseOptions['bound']

  constructor({ connection, location, capabilities, outOfProcess = null, bound }: ProgramDatabaseOptions) {
    const other =
      outOfProcess === null ? null : { connection: outOfProcess.connection, isInActors: outOfProcess.sql.isInActors }
    this.#connection = new LazyConnection(connection, other)
    this.#sql = outOfProcess?.sql ?? null
    this.#bound = bound
    this.#location = location
    this.#capabilities = capabilities
  }

  /**
   * For what else of the host belongs to the running program, such as the state of its actors: what is written here is in the
   * transaction that is open. It throws the errors of the store.
   */
  get connection(): ThreadConnection {
    return this.#connection
  }

  /**
   * Runs something in one transaction: it is committed when `run` returns, unless `keeps` says otherwise of what it returned,
   * and rolled back when it throws. `write` takes the turn of the writer with its first statement, `read` sees one state of
   * the database and cannot write. Inside of another one it is a part of that. `of` is the function that it belongs to, by
   * its name, or the route by its method and path.
   */
  transaction<A>(kind: 'read' | 'write', run: () => A, keeps: (result: A) => boolean = () => true, of = ''): A {
    return this.#told('the database', () => this.#connection.within(kind, run, keeps, this.isOutOfProcess(of)))
  }

  /** True if the transaction of a function runs out of process. */
  isOutOfProcess(name: string): boolean {
    return this.#sql?.reaches(name) ?? false
  }

  /** Says how much time the running program has. */
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
    this.#told('the database', () => this.#connection.groupCommit(run))
  }

  row(table: string, sql: string, parameters: readonly SqlParameter[]): readonly SqlValue[] | null {
    try {
      return this.#connection.row(sql, parameters)
    } catch (error) {
      throw databaseFailure(error, table, this.#location)
    }
  }

  rows(table: string, sql: string, parameters: readonly SqlParameter[]): readonly (readonly SqlValue[])[] {
    try {
      return this.#connection.rows(sql, parameters)
    } catch (error) {
      throw databaseFailure(error, table, this.#location)
    }
  }

  execute(table: string, sql: string, parameters: readonly SqlParameter[]): SqlResult {
    try {
      return this.#connection.execute(sql, parameters)
    } catch (error) {
      throw databaseFailure(error, table, this.#location)
    }
  }

  /** SQL of the program itself, that reads or writes. */
  raw(sql: string, parameters: readonly SqlParameter[]): SqlResult {
    return this.#told('the database', () => {
      try {
        return this.#connection.forRawSql.query(sql, parameters)
      } catch (error) {
        if (!isSvcError(error, 'DBS_READ_ONLY') || this.#connection.kind === 'read') throw error
        return this.#connection.forRawSql.execute(sql, parameters)
      }
    })
  }

  /** Rows by SQL that the program has written in part. */
  rawRows(table: string, sql: string, parameters: readonly SqlParameter[]): readonly (readonly SqlValue[])[] {
    return this.#told(table, () => this.#connection.forRawSql.rows(sql, parameters))
  }

  /** Brings a copy up to date, outside of what writes. */
  sync(): void {
    this.#told('the database', () => this.#connection.sync())
  }

  /** Throws `RUN_UNSUPPORTED` when the database cannot do what a search needs. */
  assertCan(needs: readonly SearchNeed[], table: string): void {
    const missing = needs.find(need => !this.#capabilities[need])
    if (missing === undefined) return
    const what = missing === 'fts' ? 'full-text search' : 'vectors'
    fail('RUN_UNSUPPORTED', `${table}: the database has no ${what}; a local file has`)
  }

  close(): void {
    this.#connection.close()
  }

  #told<A>(table: string, run: () => A): A {
    try {
      return run()
    } catch (error) {
      throw databaseFailure(error, table, this.#location)
    }
  }
}
