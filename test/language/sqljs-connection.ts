import {
  databaseErrors,
  type SqlParameters,
  type SqlResult,
  type SqlValue,
  type ThreadConnection
} from '@svc/contracts'
import { admit, failureOf, SqlJsEngine, storeError } from '@svc/plugin-database/testing'

const PLACE = 'sql.js'

/** Connection to a database in memory that SQLite in WebAssembly has. */
export class SqlJsConnection implements ThreadConnection {
  readonly #engine: SqlJsEngine
  #open: 'read' | 'write' | null = null

  private constructor(engine: SqlJsEngine) {
    this.#engine = engine
  }

  static async open(): Promise<SqlJsConnection> {
    return new SqlJsConnection(await SqlJsEngine.open('PRAGMA foreign_keys = 1'))
  }

  get inTransaction(): boolean {
    return this.#open !== null
  }

  query(sql: string, parameters?: SqlParameters): SqlResult {
    return this.#run(sql, parameters, true)
  }

  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[] {
    return this.query(sql, parameters).rows
  }

  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null {
    return this.rows(sql, parameters)[0] ?? null
  }

  execute(sql: string, parameters?: SqlParameters): SqlResult {
    if (this.#open === 'read') throw databaseErrors.create('DBS_READ_ONLY', `${PLACE}: the transaction is read-only`)
    return this.#run(sql, parameters, false)
  }

  begin(kind: 'read' | 'write'): void {
    if (this.#open !== null) throw databaseErrors.create('DBS_NESTED', `${PLACE}: a transaction is open`)
    this.#engine.exec('BEGIN')
    this.#open = kind
  }

  commit(): void {
    this.#engine.exec('COMMIT')
    this.#open = null
  }

  rollback(): void {
    if (this.#open === null) return
    this.#open = null
    this.#engine.exec('ROLLBACK')
  }

  savepoint<A>(run: () => A, keeps: (result: A) => boolean): A {
    this.#engine.exec('SAVEPOINT part')
    let isKept = false
    try {
      const result = run()
      isKept = keeps(result)
      return result
    } finally {
      this.#engine.exec(isKept ? 'RELEASE part' : 'ROLLBACK TO part; RELEASE part')
    }
  }

  sync(): void {}

  close(): void {
    this.#engine.close()
  }

  #run(sql: string, parameters: SqlParameters | undefined, isRead: boolean): SqlResult {
    const statement = admit(sql, parameters, isRead)
    try {
      return this.#engine.run(statement)
    } catch (error) {
      throw storeError(failureOf(error), PLACE, statement)
    }
  }
}
