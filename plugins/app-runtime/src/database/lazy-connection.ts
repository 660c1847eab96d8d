import {
  databaseErrors,
  type SqlParameters,
  type SqlResult,
  type SqlValue,
  type ThreadConnection
} from '@svc/contracts'

type Kind = 'read' | 'write'

/** A connection to the same database from another process, for SQL that may not terminate. */
export interface OutOfProcess {
  readonly connection: ThreadConnection
  /** True if transactions of actors, opened by `begin`, run there. */
  readonly isInActors: boolean
}

/**
 * A connection whose transactions begin with their first statement: code without database access waits for no lock.
 * Other users of the program's database, such as the store of its actors, share this connection.
 */
export class LazyConnection implements ThreadConnection {
  readonly #near: ThreadConnection
  /** Runs SQL that may not terminate; null if all SQL runs on one connection. */
  readonly #outOfProcess: OutOfProcess | null
  /** True while the open transaction is out of process. */
  #isOutOfProcess = false
  /** The transaction of the running code. */
  #kind: Kind | null = null
  /** True while transactions are savepoints of a group commit. */
  #isGroup = false

  constructor(connection: ThreadConnection, outOfProcess: OutOfProcess | null = null) {
    this.#near = connection
    this.#outOfProcess = outOfProcess
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
    return this.#near.savepoint !== undefined
  }

  /**
   * Runs the transactions of `run` as savepoints of one and commits it at the end. Each can be rolled back separately.
   * Throws the errors of the commit; then all are rolled back.
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
    this.#enter()
    this.#isGroup = false
    try {
      return this.#connection.savepoint === undefined ? run() : this.#connection.savepoint(run, keeps)
    } finally {
      this.#isGroup = true
    }
  }

  /** Runs SQL that may not terminate: in the open transaction, or in the other process. */
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
    this.#enter()
    return this.#connection.query(sql, parameters)
  }

  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[] {
    this.#enter()
    return this.#connection.rows(sql, parameters)
  }

  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null {
    this.#enter()
    return this.#connection.row(sql, parameters)
  }

  execute(sql: string, parameters?: SqlParameters): SqlResult {
    this.#enter()
    return this.#connection.execute(sql, parameters)
  }

  begin(kind: Kind): void {
    if (this.#kind !== null) throw databaseErrors.create('DBS_NESTED', 'this thread already has an open transaction')
    this.#isOutOfProcess = this.#outOfProcess?.isInActors ?? false
    this.#connection.begin(kind)
    this.#kind = kind
  }

  commit(): void {
    const connection = this.#end()
    if (connection.inTransaction) connection.commit()
  }

  rollback(): void {
    this.#end().rollback()
  }

  /** In a read transaction, later statements would see another state; a write transaction needs no sync. */
  sync(): void {
    if (this.#kind === 'write') return
    if (this.#connection.inTransaction) this.#connection.commit()
    this.#connection.sync()
  }

  close(): void {
    this.#kind = null
    this.#near.close()
    this.#outOfProcess?.connection.close()
  }

  /** Returns the connection of the transaction. */
  #end(): ThreadConnection {
    const connection = this.#connection
    this.#kind = null
    this.#isOutOfProcess = false
    return connection
  }

  get #connection(): ThreadConnection {
    return this.#isOutOfProcess && this.#outOfProcess !== null ? this.#outOfProcess.connection : this.#near
  }

  #enter(): void {
    if (this.#kind !== null && !this.#connection.inTransaction) this.#connection.begin(this.#kind)
  }
}
