import {
  databaseErrors,
  type SqlParameters,
  type SqlResult,
  type SqlValue,
  type ThreadConnection
} from '@svc/contracts'

type Kind = 'read' | 'write'

/**
 * A connection whose transactions begin with their first statement: what needs no database waits for none. Whoever else uses
 * the database for the running program, to keep the state of its actors for instance, does so through the same one.
 */
export class LazyConnection implements ThreadConnection {
  readonly #connection: ThreadConnection
  /** The transaction that the running code is in. */
  #kind: Kind | null = null
  /** Whether the transactions of the running code are parts of one. */
  #isTogether = false

  constructor(connection: ThreadConnection) {
    this.#connection = connection
  }

  /** See `ProgramDatabase.transaction`. */
  within<A>(kind: Kind, run: () => A, keeps: (result: A) => boolean): A {
    if (this.#isTogether) return this.#asPart(run, keeps)
    if (this.#kind !== null) return run()
    this.#kind = kind
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
    return this.#connection.part !== undefined
  }

  /**
   * Commits the transactions that `run` makes together, when it returns: each is undone by itself, and none is there before
   * all are. Throws what committing them throws; then none of them is there.
   */
  together(run: () => void): void {
    this.#kind = 'write'
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
      return this.#connection.part === undefined ? run() : this.#connection.part(run, keeps)
    } finally {
      this.#isTogether = true
    }
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
    this.#connection.begin(kind)
    this.#kind = kind
  }

  commit(): void {
    this.#kind = null
    if (this.#connection.inTransaction) this.#connection.commit()
  }

  rollback(): void {
    this.#kind = null
    this.#connection.rollback()
  }

  /** In a transaction that reads, what follows sees another state; one that writes needs no sync. */
  sync(): void {
    if (this.#kind === 'write') return
    if (this.#connection.inTransaction) this.#connection.commit()
    this.#connection.sync()
  }

  close(): void {
    this.#kind = null
    this.#connection.close()
  }

  #enter(): void {
    if (this.#kind !== null && !this.#connection.inTransaction) this.#connection.begin(this.#kind)
  }
}
