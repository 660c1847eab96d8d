import { resolve } from 'node:path'
import {
  type DatabaseCallOptions,
  type DatabaseCapabilities,
  type DatabaseMigration,
  type DatabaseMode,
  type DatabaseStatus,
  type DatabaseStore,
  type DatabaseTransaction,
  type DatabaseTransactionOptions,
  databaseErrors,
  type PrimaryDatabase,
  type SqlParameters,
  type SqlResult,
  type SqlStatement,
  type ThreadAccess
} from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { applyBaseline, readSchema, schemaProblems } from './baseline/apply.ts'
import { BASELINE_VERSION, baselineDigest } from './baseline/schema.ts'
import { type CircuitBreaker, withBreaker } from './circuit-breaker.ts'
import type { DatabaseLocation } from './location.ts'
import { type OpenOptions, openLocal, openLocation } from './open-location.ts'
import { memoryAccess, openMemory } from './store/local-store.ts'
import type { QueuedStore } from './store/queued-store.ts'
import { type Spans, tracedBatch, tracedStatement, tracedTransaction } from './traced-store.ts'

export interface PrimaryOptions extends OpenOptions {
  readonly place: DatabaseLocation
  readonly projectRoot: string
  /** Called after the schema was changed. */
  readonly migrated?: (migration: DatabaseMigration) => void
  /** Returns the service that records spans; default: nothing is recorded. */
  readonly spans?: Spans
  /** Returns why writes are refused, although the disk is not full yet; null, and by default: they are not. */
  readonly refusal?: () => string | null
  /** Null if the circuit breaker is off. */
  readonly breaker: CircuitBreaker | null
}

/** Primary database with the baseline schema: opened at the first use, and again at the next use after a failure. */
export class PrimaryStore implements PrimaryDatabase {
  readonly #options: PrimaryOptions
  readonly #spans: Spans
  #opening: Promise<DatabaseStore> | null = null
  #opened: DatabaseStore | null = null
  /** {@link #opened} without the breaker. */
  #unguarded: QueuedStore | null = null
  #closed = false

  constructor(options: PrimaryOptions) {
    this.#options = options
    this.#spans = options.spans ?? (() => undefined)
  }

  get mode(): DatabaseMode {
    return this.#opened?.mode ?? this.#options.place.mode
  }

  get location(): string {
    const { place } = this.#options
    return this.#opened?.location ?? (place.mode === 'remote' ? place.url : place.file)
  }

  /** File that the fallback replaces, because it cannot be written; null if the configured database is open. */
  get replaced(): string | null {
    const { place } = this.#options
    return place.mode === 'file' && place.file !== this.location ? place.file : null
  }

  async capabilities(): Promise<DatabaseCapabilities> {
    return (await this.#store()).capabilities()
  }

  async query(sql: string, parameters?: SqlParameters, options?: DatabaseCallOptions): Promise<SqlResult> {
    return tracedStatement(this.#spans, sql, async () => (await this.#store()).query(sql, parameters, options))
  }

  async execute(sql: string, parameters?: SqlParameters, options?: DatabaseCallOptions): Promise<SqlResult> {
    if (!frees(sql)) this.#assertRoom()
    return tracedStatement(this.#spans, sql, async () => (await this.#store()).execute(sql, parameters, options))
  }

  async batch(statements: readonly SqlStatement[], options?: DatabaseCallOptions): Promise<readonly SqlResult[]> {
    if (!statements.every(each => frees(typeof each === 'string' ? each : each.sql))) this.#assertRoom()
    return tracedBatch(this.#spans, statements, async () => (await this.#store()).batch(statements, options))
  }

  async transaction<A>(run: (tx: DatabaseTransaction) => Promise<A>, options?: DatabaseTransactionOptions): Promise<A> {
    this.#assertRoom()
    return tracedTransaction(this.#spans, async traced =>
      (await this.#store()).transaction(tx => run(traced(tx)), options)
    )
  }

  async migrate(sql: string, options?: DatabaseCallOptions): Promise<void> {
    this.#assertRoom()
    await tracedBatch(this.#spans, [sql], async () => (await this.#store()).migrate(sql, options))
    this.#options.migrated?.({ location: this.location, kind: 'script', program: null })
  }

  async sync(): Promise<void> {
    return (await this.#store()).sync()
  }

  async threadAccess(): Promise<ThreadAccess | null> {
    return (await this.#store()).threadAccess()
  }

  memoryAccess(maxBytes?: number): ThreadAccess {
    return memoryAccess(maxBytes)
  }

  async backup(file: string): Promise<void> {
    return (await this.#store()).backup(file)
  }

  async open(place: 'memory' | { readonly file: string }): Promise<DatabaseStore> {
    this.#assertOpen()
    if (place === 'memory') return openMemory()
    return openLocal(resolve(this.#options.projectRoot, place.file), this.#options)
  }

  async status(): Promise<DatabaseStatus> {
    const expected = { expectedVersion: BASELINE_VERSION, expectedDigest: baselineDigest() }
    try {
      const store = await this.#store()
      await this.#unguarded?.verify()
      const capabilities = await store.capabilities()
      const schema = await readSchema(store)
      const { version, digest, missingTables } = schema
      const problems = schemaProblems(schema)
      const found = { capabilities, schemaVersion: version, digest, missingTables, problems }
      return { ok: problems.length === 0, mode: store.mode, location: store.location, ...found, ...expected }
    } catch (error) {
      const hint = isSvcError(error) ? error.hint : undefined
      const problems = [hint === undefined ? errorMessage(error) : `${errorMessage(error)}; ${hint}`]
      const found = { capabilities: null, schemaVersion: null, digest: null, missingTables: [], problems }
      return { ok: false, mode: this.mode, location: this.location, ...found, ...expected }
    }
  }

  /** Closes the database for as long as `run` takes; the next use opens it again. */
  async whileClosed<A>(run: () => Promise<A>): Promise<A> {
    this.#assertOpen()
    const opened = this.#opening
    let done: (() => void) | undefined
    const gate = new Promise<void>(resolve => {
      done = resolve
    })
    this.#opening = gate.then(() => this.#open())
    // Callers await this promise; if there is none, a failure must not become an unhandled rejection.
    this.#opening.catch(() => {})
    try {
      await (await opened?.catch(() => null))?.close()
      return await run()
    } finally {
      done?.()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const store = await this.#opening?.catch(() => null)
    await store?.close()
  }

  #store(): Promise<DatabaseStore> {
    this.#assertOpen()
    this.#opening ??= this.#open()
    return this.#opening
  }

  async #open(): Promise<DatabaseStore> {
    const { place, breaker } = this.#options
    let store: QueuedStore | null = null
    try {
      store = await openLocation(place, this.#options)
      const { location } = store
      if (await applyBaseline(store)) this.#options.migrated?.({ location, kind: 'baseline', program: null })
      this.#unguarded = store
      this.#opened = breaker === null ? store : withBreaker(store, breaker)
      return this.#opened
    } catch (error) {
      this.#opening = null
      await store?.close()
      throw error
    }
  }

  /** Throws `DBS_FULL` before the disk is full, so that no write fails in the middle. */
  #assertRoom(): void {
    const refusal = this.#options.refusal?.() ?? null
    if (refusal === null) return
    throw databaseErrors.create('DBS_FULL', `${this.location}: writes are refused, since ${refusal}`, {
      hint: 'free space; svc limits shows it, and plugins.limits.disk_refuse_mb sets the limit'
    })
  }

  #assertOpen(): void {
    if (this.#closed) throw databaseErrors.create('DBS_CLOSED', `${this.location} is closed`)
  }
}

/** Returns whether a statement makes room, so that it is allowed while others are refused. */
function frees(sql: string): boolean {
  return /^\s*(?:DELETE|DROP|PRAGMA)\b/i.test(sql)
}
