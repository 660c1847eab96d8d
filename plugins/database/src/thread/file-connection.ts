import {
  databaseErrors,
  type SqlParameters,
  type SqlResult,
  type SqlValue,
  type ThreadConnection
} from '@svc/contracts'
import { type AdmittedStatement, admit, assertTransactional } from '../sql/admit.ts'
import { storeError } from '../store/failures.ts'
import { failureOf, isBusy } from '../worker/engine.ts'
import { FileIdentity } from '../worker/file-identity.ts'
import { agreesWithFile, type Guard, LibsqlEngine } from '../worker/libsql-engine.ts'
import { type BoundStatement, MEMORY } from '../worker/protocol.ts'
import { retryWhileBusy } from './wait.ts'

/** Database file, with the settings of its store. */
export interface ThreadPlace {
  /** Absolute path, or {@link MEMORY}. */
  readonly file: string
  readonly busyTimeoutMs: number
  readonly synchronous: 'normal' | 'full'
  /** Maximum size of a database in memory; default: no limit. */
  readonly maxBytes?: number
}

/** Page cache of each of the two connections, in KiB. It is small, since there may be many threads. */
const PAGE_CACHE_KIB = 16_384

/** Size of a page, the default of SQLite. */
const PAGE_BYTES = 4_096

/** Returns the pragmas that limit a database and its temporary tables. */
function pageLimits(maxBytes: number): string {
  const pages = Math.max(1, Math.floor(maxBytes / PAGE_BYTES))
  return `PRAGMA main.max_page_count = ${pages}; PRAGMA temp.max_page_count = ${pages}`
}

/** A thread's access to a file: a read-only connection, and one for writes, opened on demand. Memory has only one. */
export class FileConnection implements ThreadConnection {
  readonly #place: ThreadPlace
  readonly #guard: Guard | undefined
  readonly #reader: LibsqlEngine
  #writer: LibsqlEngine | null = null
  /** Null for an in-memory database. */
  #identity: FileIdentity | null = null
  #open: 'read' | 'write' | null = null
  /** True after a failure ended the open transaction; later statements must fail, since each would be committed. */
  #isLost = false
  /** True while the open transaction is not durable. */
  #isRelaxed = false
  #isClosed = false

  /** Opens the file. Throws `DBS_OPEN_FAILED`, `DBS_CORRUPT`, `DBS_BUSY` and `DBS_NO_BINDING`. */
  constructor(place: ThreadPlace, guard?: Guard) {
    this.#place = place
    this.#guard = guard
    this.#reader = this.#connect()
    if (place.file === MEMORY) {
      this.#writer = this.#reader
      return
    }
    this.#identity = this.#mapErrors(
      () =>
        new FileIdentity(place.file, thorough =>
          agreesWithFile(this.#write, { ...place, engine: 'libsql', readOnly: true }, thorough, guard)
        )
    )
    this.#mapErrors(() => this.#reader.exec('PRAGMA query_only = 1'))
  }

  get inTransaction(): boolean {
    return this.#open !== null
  }

  query(sql: string, parameters?: SqlParameters): SqlResult {
    return this.#read(sql, parameters, (engine, statement) => engine.run(statement))
  }

  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[] {
    return this.#read(sql, parameters, (engine, statement) => engine.rows(statement))
  }

  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null {
    return this.#read(sql, parameters, (engine, statement) => engine.row(statement))
  }

  execute(sql: string, parameters?: SqlParameters): SqlResult {
    this.#assertUsable()
    const statement = admit(sql, parameters, false)
    if (this.#open === 'read') {
      throw databaseErrors.create('DBS_READ_ONLY', `${this.#place.file}: the open transaction is read-only`, {
        data: { sql }
      })
    }
    if (this.#open === 'write') return this.#inside(this.#write, statement)
    if (statement.standalone) {
      return this.#mapErrors(() => {
        this.#identity?.verify()
        return retryWhileBusy(this.#place.busyTimeoutMs, () => this.#write.run(statement))
      }, statement)
    }
    this.begin('write')
    let result: SqlResult
    try {
      result = this.#inside(this.#write, statement)
    } catch (error) {
      this.rollback()
      throw error
    }
    this.commit()
    return result
  }

  begin(kind: 'read' | 'write', { isDurable = true }: { readonly isDurable?: boolean } = {}): void {
    this.#assertUsable()
    if (this.#open !== null) {
      throw databaseErrors.create('DBS_NESTED', `${this.#place.file}: this thread already has an open transaction`)
    }
    // The write lock is taken first, so that no later statement fails because of it.
    if (kind === 'read') this.#mapErrors(() => this.#reader.exec('BEGIN'))
    else this.#beginWrite(isDurable)
    this.#open = kind
    this.#isLost = false
    if (kind === 'read') return
    try {
      this.#mapErrors(() => this.#identity?.verifyBegun())
    } catch (error) {
      this.rollback()
      throw error
    }
  }

  commit(): void {
    const engine = this.#engine()
    try {
      this.#assertBegun()
      this.#mapErrors(() => {
        if (this.#open === 'write') this.#identity?.verifyCommit()
        retryWhileBusy(this.#place.busyTimeoutMs, () => engine.exec('COMMIT'))
      })
    } catch (error) {
      this.rollback()
      throw error
    }
    this.#open = null
    this.#sync()
  }

  rollback(): void {
    if (this.#open === null) return
    const engine = this.#engine()
    this.#open = null
    if (engine.inTransaction) this.#mapErrors(() => engine.exec('ROLLBACK'))
    this.#sync()
  }

  #beginWrite(isDurable: boolean): void {
    this.#mapErrors(() => {
      if (!isDurable && this.#place.synchronous === 'full') {
        this.#write.exec('PRAGMA synchronous = normal')
        this.#isRelaxed = true
      }
      try {
        retryWhileBusy(this.#place.busyTimeoutMs, () => this.#write.exec('BEGIN IMMEDIATE'))
      } catch (error) {
        this.#sync()
        throw error
      }
    })
  }

  /** Makes further commits durable again. The setting cannot be changed within a transaction. */
  #sync(): void {
    if (!this.#isRelaxed) return
    this.#isRelaxed = false
    this.#mapErrors(() => this.#write.exec('PRAGMA synchronous = full'))
  }

  savepoint<A>(run: () => A, keeps: (result: A) => boolean): A {
    this.#assertBegun()
    const engine = this.#engine()
    this.#mapErrors(() => engine.exec('SAVEPOINT part'))
    let isKept = false
    try {
      const result = run()
      isKept = keeps(result)
      return result
    } finally {
      // The end of the transaction also rolled back the savepoint.
      if (!this.#isLost) this.#mapErrors(() => engine.exec(isKept ? 'RELEASE part' : 'ROLLBACK TO part; RELEASE part'))
    }
  }

  sync(): void {
    if (this.#open !== null) throw databaseErrors.create('DBS_NESTED', `${this.#place.file}: a transaction is open`)
  }

  close(): void {
    if (this.#isClosed) return
    this.rollback()
    this.#isClosed = true
    this.#reader.close()
    if (this.#writer !== this.#reader) this.#writer?.close()
  }

  #read<A>(
    sql: string,
    parameters: SqlParameters | undefined,
    run: (engine: LibsqlEngine, statement: BoundStatement) => A
  ): A {
    this.#assertUsable()
    const statement = admit(sql, parameters, true)
    const engine = this.#engine()
    if (this.#open !== null) this.#assertBegun()
    try {
      return run(engine, statement)
    } catch (error) {
      // A writer already has the lock. A reader may have to wait, for example for the recovery of the log.
      if (!isBusy(error) || this.#open === 'write') throw this.#failed(error, statement)
      return this.#mapErrors(() => retryWhileBusy(this.#place.busyTimeoutMs, () => run(engine, statement)), statement)
    }
  }

  get #write(): LibsqlEngine {
    this.#writer ??= this.#connect()
    return this.#writer
  }

  #engine(): LibsqlEngine {
    return this.#open === 'write' ? this.#write : this.#reader
  }

  /** Runs a statement in the open write transaction. */
  #inside(engine: LibsqlEngine, statement: AdmittedStatement): SqlResult {
    this.#assertBegun()
    assertTransactional(statement)
    try {
      return engine.run(statement)
    } catch (error) {
      throw this.#failed(error, statement)
    }
  }

  #assertBegun(): void {
    if (this.#open !== null && !this.#isLost) return
    const why = this.#open === null ? 'none is open' : 'an earlier failure has rolled it back'
    throw databaseErrors.create('DBS_TRANSACTION_ENDED', `${this.#place.file}: a transaction cannot be used: ${why}`)
  }

  #connect(): LibsqlEngine {
    const { file, busyTimeoutMs, synchronous, maxBytes } = this.#place
    return this.#mapErrors(() => {
      const engine = new LibsqlEngine(
        { engine: 'libsql', file, readOnly: false, busyTimeoutMs, synchronous },
        this.#guard
      )
      try {
        retryWhileBusy(busyTimeoutMs, () => engine.exec('PRAGMA journal_mode = WAL'))
        engine.exec(
          `PRAGMA synchronous = ${synchronous}; PRAGMA foreign_keys = 1; PRAGMA cache_size = -${PAGE_CACHE_KIB}`
        )
        if (maxBytes !== undefined) engine.exec(pageLimits(maxBytes))
        // Fails here if the file is not a database.
        const sql = 'SELECT count(*) FROM sqlite_master'
        retryWhileBusy(busyTimeoutMs, () => engine.run({ sql, values: [], verb: 'SELECT' }))
        return engine
      } catch (error) {
        engine.close()
        throw error
      }
    })
  }

  #assertUsable(): void {
    if (this.#isClosed) throw databaseErrors.create('DBS_CLOSED', `${this.#place.file} is closed`)
  }

  /** Returns the error for a failure, and records whether it ended the transaction. */
  #failed(error: unknown, statement: BoundStatement): Error {
    this.#isLost = this.#open !== null && !this.#engine().inTransaction
    return this.#storeError(error, statement)
  }

  #mapErrors<A>(run: () => A, statement?: BoundStatement): A {
    try {
      return run()
    } catch (error) {
      throw this.#storeError(error, statement)
    }
  }

  /** Returns the error for a failure. A lost file takes precedence: it is the cause of other failures. */
  #storeError(error: unknown, statement?: BoundStatement): Error {
    try {
      this.#identity?.verify()
      return storeError(failureOf(error), this.#place.file, statement)
    } catch (lost) {
      return storeError(failureOf(lost), this.#place.file)
    }
  }
}
