import { setTimeout as sleep } from 'node:timers/promises'
import type { SqlResult } from '@svc/contracts'
import { type Engine, EngineFailure, failureOf, isBusy } from './engine.ts'
import { FileIdentity } from './file-identity.ts'
import { agreesWithFile, LibsqlEngine } from './libsql-engine.ts'
import type {
  BoundStatement,
  EngineInfo,
  OperationName,
  SqlFailure,
  SqlOutcome,
  WorkerOperations,
  WorkerPlace
} from './protocol.ts'
import { SqlJsEngine } from './sqljs-engine.ts'

/** First wait for a lock; doubled after each attempt, up to the maximum. */
const MIN_WAIT_MS = 1
const MAX_WAIT_MS = 40
/** Page cache of a connection, in KiB. */
const PAGE_CACHE_KIB = 65_536
/**
 * Pages of the write-ahead log (32 MiB) at which a commit runs a checkpoint. A checkpoint blocks commits for
 * milliseconds, so it normally runs in a pause between commits.
 */
const MAX_WAL_PAGES = 8_192
/** Minimum pause between commits for a checkpoint, in milliseconds. */
const PAUSE_MS = 200

/**
 * Operations of a worker thread on its connection, one at a time. Waits for a lock are asynchronous: a wait inside the
 * binding would leave a statement incomplete.
 */
export class ConnectionService {
  readonly #place: WorkerPlace
  #opened: Engine | null = null
  /** Null for memory, and for a replica, whose primary stores acknowledged changes. */
  #identity: FileIdentity | null = null
  /** True if the caller has an open transaction; some failures end it. */
  #hasTransaction = false
  /** `performance.now()` of the last commit; null if a checkpoint has run since. */
  #uncheckpointedAt: number | null = null
  #pause: NodeJS.Timeout | undefined

  constructor(place: WorkerPlace) {
    this.#place = place
  }

  /** Returns the failure to report. A lost file takes precedence: it is the cause of other failures. */
  failureOf(error: unknown): SqlFailure {
    try {
      this.#identity?.verify()
      return failureOf(error)
    } catch (lost) {
      return failureOf(lost)
    }
  }

  answer<O extends OperationName>(
    op: O,
    given: WorkerOperations[O]['given']
  ): Promise<WorkerOperations[O]['answer']> | WorkerOperations[O]['answer'] {
    const answers: {
      readonly [N in OperationName]: (
        given: WorkerOperations[N]['given']
      ) => Promise<WorkerOperations[N]['answer']> | WorkerOperations[N]['answer']
    } = {
      open: () => this.#open(),
      query: statement => this.#query(statement),
      group: statements => this.#group(statements),
      batch: statements => this.#batch(statements),
      standalone: statement => this.#standalone(statement),
      begin: async () => {
        await this.#begin()
        this.#hasTransaction = true
        return null
      },
      run: statement => this.#run(statement),
      commit: () => {
        this.#assertBegun()
        this.#hasTransaction = false
        return this.#commit()
      },
      rollback: () => {
        this.#hasTransaction = false
        return this.#rollback()
      },
      backup: file => {
        this.#engine.backup(file)
        return null
      },
      sync: () => {
        this.#engine.sync()
        return null
      },
      verify: () => {
        this.#verify()
        return null
      },
      close: () => {
        clearTimeout(this.#pause)
        this.#opened?.close()
        this.#opened = null
        return null
      }
    }
    return answers[op](given)
  }

  get #engine(): Engine {
    if (this.#opened === null) throw new EngineFailure('the database is not open', 'SQLITE_MISUSE')
    return this.#opened
  }

  async #open(): Promise<EngineInfo> {
    const { engine, file, readOnly, synchronous, replicaOf, expected } = this.#place
    if (expected !== undefined) FileIdentity.assertSame(file, expected)
    if (engine === 'sqljs') this.#opened = await SqlJsEngine.open('PRAGMA foreign_keys = 1')
    else {
      this.#opened = new LibsqlEngine(this.#place)
      // A replica has its own journal, and its primary has the settings.
      if (replicaOf === undefined) {
        await this.#retryWhileBusy(() => this.#engine.exec('PRAGMA journal_mode = WAL'))
        this.#engine.exec(
          `PRAGMA synchronous = ${synchronous}; PRAGMA foreign_keys = 1; PRAGMA cache_size = -${PAGE_CACHE_KIB};
           PRAGMA wal_autocheckpoint = ${MAX_WAL_PAGES}`
        )
      }
    }
    // Fails here if the file is not a database.
    await this.#retryWhileBusy(() =>
      this.#engine.run({ sql: 'SELECT count(*) FROM sqlite_master', values: [], verb: 'SELECT' })
    )
    if (this.#opened instanceof LibsqlEngine && replicaOf === undefined) {
      const opened = this.#opened
      this.#identity = new FileIdentity(file, thorough => agreesWithFile(opened, this.#place, thorough), expected)
    }
    const info = { ...this.#engine.info(), ...(this.#identity === null ? {} : { id: this.#identity.id }) }
    if (readOnly) this.#engine.exec('PRAGMA query_only = 1')
    return info
  }

  async #query(statement: BoundStatement): Promise<SqlResult> {
    const { readOnly, replicaOf } = this.#place
    const engine = this.#engine
    if (readOnly || replicaOf !== undefined) return this.#retryWhileBusy(() => engine.run(statement))
    engine.exec('PRAGMA query_only = 1')
    try {
      return engine.run(statement)
    } finally {
      engine.exec('PRAGMA query_only = 0')
    }
  }

  /** Runs writes in one commit; if that fails, in separate commits. */
  async #group(statements: readonly BoundStatement[]): Promise<readonly SqlOutcome[]> {
    const grouped =
      statements.length > 1 && this.#place.replicaOf === undefined ? await this.#groupCommit(statements) : null
    if (grouped !== null) return grouped
    const outcomes: SqlOutcome[] = []
    for (const statement of statements) outcomes.push(await this.#single(statement))
    return outcomes
  }

  /**
   * Returns null if everything was rolled back. A failed statement rolls back only itself, unless it has OR ROLLBACK.
   */
  async #groupCommit(statements: readonly BoundStatement[]): Promise<readonly SqlOutcome[] | null> {
    const engine = this.#engine
    try {
      await this.#begin()
    } catch (error) {
      return statements.map(() => ({ ok: false, failure: this.failureOf(error) }))
    }
    const outcomes: SqlOutcome[] = []
    for (const statement of statements) {
      try {
        outcomes.push({ ok: true, result: engine.run(statement) })
      } catch (error) {
        if (!engine.inTransaction) return null
        outcomes.push({ ok: false, failure: this.failureOf(error) })
      }
    }
    try {
      await this.#commit()
      return outcomes
    } catch {
      return null
    }
  }

  async #single(statement: BoundStatement): Promise<SqlOutcome> {
    try {
      const [result] = await this.#batch([statement])
      return { ok: true, result: result as SqlResult }
    } catch (error) {
      return { ok: false, failure: this.failureOf(error) }
    }
  }

  async #batch(statements: readonly BoundStatement[]): Promise<readonly SqlResult[]> {
    const engine = this.#engine
    await this.#begin()
    let statement = 0
    try {
      const results: SqlResult[] = []
      for (; statement < statements.length; statement += 1)
        results.push(engine.run(statements[statement] as BoundStatement))
      await this.#commit()
      return results
    } catch (error) {
      this.#rollback()
      throw Object.assign(error as Error, { statement })
    }
  }

  #run(statement: BoundStatement): SqlResult {
    this.#assertBegun()
    try {
      return this.#engine.run(statement)
    } catch (error) {
      this.#hasTransaction = this.#engine.inTransaction
      throw error
    }
  }

  /** Throws if a failure ended the transaction: each later statement would be committed separately. */
  #assertBegun(): void {
    if (!this.#hasTransaction)
      throw new EngineFailure('an earlier failure has rolled the transaction back', 'SQLITE_ABORT')
  }

  async #standalone({ sql }: BoundStatement): Promise<SqlResult> {
    this.#verify()
    await this.#retryWhileBusy(() => this.#engine.exec(sql))
    return { columns: [], rows: [], changes: 0, lastInsertId: null }
  }

  /** Begins a transaction with the write lock, so that no later statement fails because of a lock. */
  async #begin(): Promise<void> {
    await this.#retryWhileBusy(() => this.#engine.exec('BEGIN IMMEDIATE'))
    try {
      this.#identity?.verifyBegun()
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  /** Throws `FILE_LOST` if the next process would not see a commit. */
  #verify(): void {
    this.#identity?.verify()
    if (this.#hasTransaction || this.#identity?.isChanged() !== true) return
    try {
      this.#engine.exec('BEGIN IMMEDIATE')
    } catch (error) {
      // The contents are compared once the other writer has ended.
      if (isBusy(error)) return
      throw error
    }
    try {
      this.#identity.verifyBegun()
    } finally {
      this.#rollback()
    }
  }

  async #commit(): Promise<null> {
    try {
      this.#identity?.verifyCommit()
      await this.#retryWhileBusy(() => this.#engine.exec('COMMIT'))
      // The primary has the commit; the replica receives it by a sync.
      if (this.#place.replicaOf !== undefined) this.#engine.sync()
      else if (this.#place.engine !== 'sqljs') this.#scheduleCheckpoint()
      return null
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  #scheduleCheckpoint(): void {
    this.#uncheckpointedAt = performance.now()
    this.#pause ??= setTimeout(() => this.#checkpoint(), PAUSE_MS).unref()
  }

  /** Runs a checkpoint in a pause between commits. */
  #checkpoint(): void {
    this.#pause = undefined
    if (this.#uncheckpointedAt === null || this.#opened === null) return
    const left = this.#uncheckpointedAt + PAUSE_MS - performance.now()
    if (left > 0 || this.#engine.inTransaction) {
      this.#pause = setTimeout(() => this.#checkpoint(), Math.max(left, PAUSE_MS / 2)).unref()
      return
    }
    this.#uncheckpointedAt = null
    try {
      // A foreign file gets no pages of the log.
      this.#verify()
      this.#identity?.checkpoint(() => this.#engine.exec('PRAGMA wal_checkpoint(PASSIVE)'))
    } catch {
      // Pages that a reader still needs, or that do not fit on a full disk, stay in the log until the next checkpoint.
    }
  }

  #rollback(): null {
    if (this.#engine.inTransaction) this.#engine.exec('ROLLBACK')
    return null
  }

  async #retryWhileBusy<A>(run: () => A): Promise<A> {
    const until = performance.now() + this.#place.busyTimeoutMs
    for (let wait = MIN_WAIT_MS; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      try {
        return run()
      } catch (error) {
        if (!isBusy(error) || performance.now() + wait > until) throw error
        // Jitter: waiters in step would collide again.
        await sleep(wait * (0.5 + Math.random()))
      }
    }
  }
}
