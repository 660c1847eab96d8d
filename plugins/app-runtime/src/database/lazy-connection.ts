import {
  databaseErrors,
  type SqlParameters,
  type SqlResult,
  type SqlValue,
  type ThreadConnection
} from '@svc/contracts'

type Kind = 'read' | 'write'

/** Another connection to the same database. */
export interface Apart {
  readonly connection: ThreadConnection
  /** Whether transactions without an owner are supported. */
  readonly isInActors: boolean
}

/**
 * A connection whose transactions begin with their first statement: code without database access waits for none. Other users of
 * the program's database, such as the store of its actors, share this connection.
 */
export class LazyConnection implements ThreadConnection {
  readonly #near: ThreadConnection
  /** Where SQL is run that may have no end; null where it is run like everything else. */
  readonly #apart: Apart | null
  /** Whether the transaction that the running code is in is apart. */
  #isApart = false
  /** The transaction that the running code is in. */
  #kind: Kind | null = null
  /** Whether the transactions of the running code are parts of one. */
  #isTogether = false

  constructor(connection: ThreadConnection, apart: Apart | null = null) {
    this.#near = connection
    this.#apart = apart
  }

  /** See `ProgramDatabase.transaction`. */
  within<A>(kind: Kind, run: () => A, keeps: (result: A) => boolean, isApart = false): A {
    if (this.#isTogether) return this.#asPart(run, keeps)
    if (this.#kind !== null) return run()
    this.#kind = kind
    this.#isApart = isApart
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

  /** Whether transactions can be committed together. */
  get hasParts(): boolean {
    return this.#near.savepoint !== undefined
  }

  /**
   * Commits the transactions that `run` makes together, when it returns: each is undone by itself, and none is there before
   * all are. Throws what committing them throws; then none of them is there.
   */
  together(run: () => void): void {
    this.#kind = 'write'
    this.#isApart = false
    this.#isTogether = true
    try {
      run()
    } catch (error) {
      this.#isTogether = false
      this.rollback()
      throw error
    }
    this.#isTogether = false
    this.commit()
  }

  #asPart<A>(run: () => A, keeps: (result: A) => boolean): A {
    this.#enter()
    this.#isTogether = false
    try {
      return this.#connection.savepoint === undefined ? run() : this.#connection.savepoint(run, keeps)
    } finally {
      this.#isTogether = true
    }
  }

  /** For SQL that may have no end: in the transaction that is open, or else apart. */
  get forOwnSql(): ThreadConnection {
    return this.#kind === null && this.#apart !== null ? this.#apart.connection : this
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
    if (this.#kind !== null) throw databaseErrors.create('DBS_NESTED', 'a transaction of this thread is open already')
    this.#isApart = this.#apart?.isInActors ?? false
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

  /** In a transaction that reads, what follows sees another state; one that writes needs no sync. */
  sync(): void {
    if (this.#kind === 'write') return
    if (this.#connection.inTransaction) this.#connection.commit()
    this.#connection.sync()
  }

  close(): void {
    this.#kind = null
    this.#near.close()
    this.#apart?.connection.close()
  }

  /** Gives the connection that the transaction was on. */
  #end(): ThreadConnection {
    const connection = this.#connection
    this.#kind = null
    this.#isApart = false
    return connection
  }

  get #connection(): ThreadConnection {
    return this.#isApart && this.#apart !== null ? this.#apart.connection : this.#near
  }

  #enter(): void {
    if (this.#kind !== null && !this.#connection.inTransaction) this.#connection.begin(this.#kind)
  }
}
