import type { DatabaseCapabilities, SqlParameter, SqlResult, SqlValue, ThreadConnection } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { fail } from '../interpreter/failure.ts'
import { databaseFailure } from './database-failure.ts'
import type { SearchNeed } from './search-sql.ts'

export interface ProgramDatabaseOptions {
  readonly connection: ThreadConnection
  /** Path or URL: it is left out of what programs are told. */
  readonly location: string
  readonly capabilities: Pick<DatabaseCapabilities, 'fts' | 'vector'>
}

/**
 * The database as a program of this thread has it. Outside of `transaction` every write commits by itself. Throws Failures
 * without a place.
 */
export class ProgramDatabase {
  readonly #connection: ThreadConnection
  readonly #location: string
  readonly #capabilities: ProgramDatabaseOptions['capabilities']
  /** The transaction that the running code is in; it begins with its first statement. */
  #kind: 'read' | 'write' | null = null

  constructor({ connection, location, capabilities }: ProgramDatabaseOptions) {
    this.#connection = connection
    this.#location = location
    this.#capabilities = capabilities
  }

  /**
   * Runs something in one transaction: it is committed when `run` returns, unless `keeps` says otherwise of what it returned,
   * and rolled back when it throws. `write` takes the turn of the writer with its first statement, `read` sees one state of
   * the database and cannot write. Inside of another one it is a part of that.
   */
  transaction<A>(kind: 'read' | 'write', run: () => A, keeps: (result: A) => boolean = () => true): A {
    if (this.#kind !== null) return run()
    this.#kind = kind
    let isKept = false
    try {
      const result = run()
      isKept = keeps(result)
      return result
    } finally {
      this.#kind = null
      this.#end(isKept)
    }
  }

  /** Whether the running code is in a transaction. */
  get inTransaction(): boolean {
    return this.#kind !== null
  }

  row(table: string, sql: string, parameters: readonly SqlParameter[]): readonly SqlValue[] | null {
    return this.#told(table, () => {
      this.#enter()
      return this.#connection.row(sql, parameters)
    })
  }

  rows(table: string, sql: string, parameters: readonly SqlParameter[]): readonly (readonly SqlValue[])[] {
    return this.#told(table, () => {
      this.#enter()
      return this.#connection.rows(sql, parameters)
    })
  }

  execute(table: string, sql: string, parameters: readonly SqlParameter[]): SqlResult {
    return this.#told(table, () => {
      this.#enter()
      return this.#connection.execute(sql, parameters)
    })
  }

  /** SQL of the program itself, that reads or writes. */
  raw(sql: string, parameters: readonly SqlParameter[]): SqlResult {
    return this.#told('db', () => {
      this.#enter()
      try {
        return this.#connection.query(sql, parameters)
      } catch (error) {
        if (!isSvcError(error, 'DBS_READ_ONLY') || this.#kind === 'read') throw error
        return this.#connection.execute(sql, parameters)
      }
    })
  }

  /** Brings a copy up to date. In a transaction that reads, what follows sees another state; one that writes needs none. */
  sync(): void {
    this.#told('db', () => {
      if (this.#kind === 'write') return
      if (this.#connection.inTransaction) this.#connection.commit()
      this.#connection.sync()
    })
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

  #enter(): void {
    if (this.#kind !== null && !this.#connection.inTransaction) this.#connection.begin(this.#kind)
  }

  #end(isKept: boolean): void {
    if (!this.#connection.inTransaction) return
    if (!isKept) this.#connection.rollback()
    else this.#told('db', () => this.#connection.commit())
  }

  #told<A>(table: string, run: () => A): A {
    try {
      return run()
    } catch (error) {
      throw databaseFailure(error, table, this.#location)
    }
  }
}
