import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import type { NativeGuard, SqlResult, SqlValue } from '@svc/contracts'
import { readValue } from '../sql/engine-values.ts'
import { CHANGING, type Engine, EngineFailure, INSERTING, isBusy, PRIVATE_MODE } from './engine.ts'
import { locate } from './locate.ts'
import { type BoundStatement, type EngineInfo, MEMORY, type WorkerPlace } from './protocol.ts'
import { StatementCache } from './statement-cache.ts'

/** Types of the part of the binding that is used here; its own types are incomplete. */
interface NativeStatement {
  readonly reader: boolean
  raw(on: boolean): this
  safeIntegers(on: boolean): this
  columns(): { readonly name: string }[]
  all(values: readonly unknown[]): NativeRow[]
  get(values: readonly unknown[]): NativeRow | undefined
  run(values: readonly unknown[]): { readonly changes: number; readonly lastInsertRowid: number }
}
type NativeRow = (bigint | number | string | Buffer | null)[]
interface NativeDatabase {
  readonly inTransaction: boolean
  prepare(sql: string): NativeStatement
  exec(sql: string): void
  sync(): void
  close(): void
}
/** Prepared statement with a cached `reader`, whose getter costs as much as a run. */
interface Prepared {
  readonly native: NativeStatement
  readonly reader: boolean
}
type NativeConstructor = new (file: string, options: Readonly<Record<string, unknown>>) => NativeDatabase

/** Guard that is notified when the thread enters and leaves the binding. */
export type Guard = Pick<NativeGuard, 'enter' | 'leave'>

/** Guard for a thread that closes its connections before it ends. */
const UNGUARDED: Guard = { enter: () => undefined, leave: () => undefined }

const STATEMENTS = 256
/** On a replica a cached statement keeps its first parameters (libsql 0.5.29), so each is prepared again. */
const REPLICA_STATEMENTS = 0

export class LibsqlEngine implements Engine {
  readonly #database: NativeDatabase
  readonly #url: string | undefined
  readonly #guard: Guard
  readonly #statements: StatementCache<Prepared>
  #isClosed = false

  /** Opens the file. Throws `EngineFailure`, with the code `NO_BINDING` if the native module is missing. */
  constructor({ file, replicaOf }: WorkerPlace, guard = UNGUARDED) {
    this.#guard = guard
    this.#url = replicaOf?.url
    this.#statements = new StatementCache(replicaOf === undefined ? STATEMENTS : REPLICA_STATEMENTS, () => {})
    guard.enter()
    try {
      const Native = loadBinding()
      const remote = replicaOf === undefined ? {} : { syncUrl: replicaOf.url, authToken: replicaOf.token }
      if (replicaOf === undefined && file !== MEMORY) createPrivate(file)
      const isNewReplica = replicaOf !== undefined && !existsSync(file)
      this.#database = new Native(file, remote)
      if (isNewReplica && existsSync(file)) chmodSync(file, PRIVATE_MODE)
    } catch (error) {
      if (error instanceof EngineFailure) throw error
      throw openFailure(nativeFailure(error).message, replicaOf?.url)
    } finally {
      guard.leave()
    }
  }

  get inTransaction(): boolean {
    // For a closed connection, the binding (libsql 0.5.29) would abort the process.
    return !this.#isClosed && this.#inside(() => this.#database.inTransaction)
  }

  run({ sql, values, verb }: BoundStatement): SqlResult {
    this.#guard.enter()
    try {
      const { native, reader } = this.#take(sql)
      // Always pass an array: for a single value of another type the binding crashes the process.
      if (!reader) return this.#changed(verb, [], [], native.run(values))
      const rows = readRows(native.all(values))
      // Read after the run: the first step compiles the statement again after a schema change.
      const columns = native.columns().map(({ name }) => name)
      return this.#changed(verb, columns, rows, null)
    } catch (error) {
      throw this.#failed(sql, error)
    } finally {
      this.#guard.leave()
    }
  }

  /** Returns rows without column names; reading the names costs about as much as one row. */
  rows({ sql, values }: BoundStatement): readonly (readonly SqlValue[])[] {
    this.#guard.enter()
    try {
      const { native, reader } = this.#take(sql)
      return reader ? readRows(native.all(values)) : []
    } catch (error) {
      throw this.#failed(sql, error)
    } finally {
      this.#guard.leave()
    }
  }

  /** Returns the first row; null if there is none. */
  row({ sql, values }: BoundStatement): readonly SqlValue[] | null {
    this.#guard.enter()
    try {
      const { native, reader } = this.#take(sql)
      const row = reader ? native.get(values) : undefined
      return row === undefined ? null : readRow(row)
    } catch (error) {
      throw this.#failed(sql, error)
    } finally {
      this.#guard.leave()
    }
  }

  exec(sql: string): void {
    this.#attempt(() => this.#database.exec(sql))
  }

  info(): EngineInfo {
    const works = (sql: string): boolean => {
      try {
        this.#database.prepare(sql).all([])
        return true
      } catch {
        return false
      }
    }
    return this.#inside(() => ({ fts: works('SELECT fts5_source_id()'), vector: works("SELECT vector32('[1]')") }))
  }

  backup(file: string): void {
    createPrivate(file)
    this.#attempt(() => this.#database.prepare('VACUUM INTO ?').run([file]))
  }

  sync(): void {
    try {
      this.#inside(() => this.#database.sync())
    } catch (error) {
      throw openFailure(nativeFailure(error).message, this.#url)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#statements.clear()
    this.#inside(() => this.#database.close())
  }

  #inside<A>(run: () => A): A {
    this.#guard.enter()
    try {
      return run()
    } finally {
      this.#guard.leave()
    }
  }

  #attempt(run: () => unknown): void {
    try {
      this.#inside(run)
    } catch (error) {
      throw nativeFailure(error)
    }
  }

  #take(sql: string): Prepared {
    return this.#statements.take(sql, () => this.#prepare(sql))
  }

  #prepare(sql: string): Prepared {
    try {
      const native = this.#database.prepare(sql).safeIntegers(true)
      const { reader } = native
      return { native: reader ? native.raw(true) : native, reader }
    } catch (error) {
      const failure = nativeFailure(error)
      throw new EngineFailure(failure.message, failure.code, true, this.#locate(sql, failure.message))
    }
  }

  /** Drops a statement that failed to get a lock: it is not reset, so its next run would succeed without a commit. */
  #failed(sql: string, error: unknown): EngineFailure {
    // The statement could not be prepared, so there is nothing to drop.
    if (error instanceof EngineFailure) return error
    this.#statements.drop(sql)
    return nativeFailure(error)
  }

  #locate(sql: string, message: string): number | null {
    return locate(sql, message, prefix => {
      try {
        this.#database.prepare(prefix)
        return null
      } catch (error) {
        return nativeFailure(error).message
      }
    })
  }

  /** Returns the result of a write. The binding's counts are not reset by a statement without changes. */
  #changed(
    verb: string,
    columns: readonly string[],
    rows: SqlResult['rows'],
    counted: { readonly changes: number; readonly lastInsertRowid: number } | null
  ): SqlResult {
    if (!CHANGING.has(verb)) return { columns, rows, changes: 0, lastInsertId: null }
    const exact = counted !== null && Number.isSafeInteger(counted.lastInsertRowid)
    const [changes, lastInsertId] = exact ? [counted.changes, counted.lastInsertRowid] : this.#counts()
    const inserted = INSERTING.has(verb) && Number(changes) > 0
    return { columns, rows, changes: Number(changes), lastInsertId: inserted ? lastInsertId : null }
  }

  #counts(): [number, number | bigint] {
    const sql = 'SELECT changes(), last_insert_rowid()'
    return this.row({ sql, values: [], verb: 'SELECT' }) as [number, number | bigint]
  }
}

/** The first page, with the header and the schema's root. */
const FIRST_PAGE = {
  sql: 'SELECT (SELECT data FROM sqlite_dbpage WHERE pgno = 1), page_count FROM pragma_page_count',
  values: [],
  verb: 'SELECT'
}
/** The name of each table, and the columns that order its rows. */
const TABLES = {
  sql: `SELECT name, iif(wr, (SELECT group_concat('"' || replace(name, '"', '""') || '" DESC')
                              FROM (SELECT name FROM pragma_table_info(list.name) WHERE pk > 0 ORDER BY pk)),
                         'rowid DESC')
        FROM pragma_table_list AS list WHERE schema = 'main' AND type IN ('table', 'shadow')`,
  values: [],
  verb: 'SELECT'
}

/**
 * Returns whether a new connection, without cached pages, reads the same database as `engine`: the first page and the
 * last row of each table. The transaction of `engine` must have no changes. `thorough` also checks all pages, in time
 * linear in the file size.
 */
export function agreesWithFile(engine: LibsqlEngine, place: WorkerPlace, thorough: boolean, guard?: Guard): boolean {
  let other: LibsqlEngine | null = null
  try {
    other = new LibsqlEngine(place, guard)
    if (!isDeepStrictEqual(engine.row(FIRST_PAGE), other.row(FIRST_PAGE))) return false
    for (const [name, order] of other.rows(TABLES)) {
      const sql = `SELECT * FROM "${String(name).replaceAll('"', '""')}" ORDER BY ${order} LIMIT 1`
      const last = { sql, values: [], verb: 'SELECT' }
      if (!isDeepStrictEqual(engine.row(last), other.row(last))) return false
    }
    return !thorough || other.row({ sql: 'PRAGMA quick_check(1)', values: [], verb: 'PRAGMA' })?.[0] === 'ok'
  } catch (error) {
    // A lock does not mean that the file is a different one.
    return isBusy(error)
  } finally {
    other?.close()
  }
}

/**
 * Creates a file that only the user can read, whatever the umask; SQLite gives its logs the same permissions. No effect
 * on an existing file, which must not be opened here: closing it would release the locks of SQLite in this process.
 */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', PRIVATE_MODE))
  } catch {
    // The file exists, or SQLite reports why it cannot be created.
  }
}

function loadBinding(): NativeConstructor {
  try {
    return createRequire(import.meta.url)('libsql') as NativeConstructor
  } catch (error) {
    throw new EngineFailure(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error), 'NO_BINDING')
  }
}

/** Converts a row in place: the binding made the array for this call. Buffers are copied, as they may share memory. */
function readRow(row: NativeRow): SqlValue[] {
  for (let at = 0; at < row.length; at += 1) {
    const value = row[at] as NativeRow[number]
    if (typeof value !== 'string')
      row[at] = readValue(value instanceof Uint8Array ? new Uint8Array(value) : value) as never
  }
  return row
}

function readRows(rows: NativeRow[]): SqlValue[][] {
  for (const row of rows) readRow(row)
  return rows
}

/** Names of SQLite's result codes by number; for constraints, of the extended codes. */
const RESULTS: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  23: 'SQLITE_AUTH',
  275: 'SQLITE_CONSTRAINT_CHECK',
  787: 'SQLITE_CONSTRAINT_FOREIGNKEY',
  1299: 'SQLITE_CONSTRAINT_NOTNULL',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
  1811: 'SQLITE_CONSTRAINT_TRIGGER',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
  2579: 'SQLITE_CONSTRAINT_ROWID'
}

function nativeFailure(error: unknown): EngineFailure {
  const { message, code } = error as { message?: unknown; code?: unknown }
  const text = String(message)
  // Errors of a replica's primary arrive only as text.
  const [, , number, remoteMessage] = /RemoteSqliteFailure\((\d+), (\d+), "([\s\S]*)"\)/.exec(text) ?? []
  if (number !== undefined && remoteMessage !== undefined) {
    const result = RESULTS[Number(number)] ?? RESULTS[Number(number) & 0xff] ?? 'SQLITE_ERROR'
    return new EngineFailure(remoteMessage, result)
  }
  return new EngineFailure(text, typeof code === 'string' ? code : 'SQLITE_ERROR')
}

/** Returns the failure of opening: the binding reports only a generic error. `url`: the primary of a replica. */
function openFailure(message: string, url: string | undefined): EngineFailure {
  if (url === undefined) return new EngineFailure('the file can be neither opened nor created', 'SQLITE_CANTOPEN')
  const refused = /\b40[13]\b|unauthori[sz]ed|unauthenticated|permission denied/i.test(message)
  return new EngineFailure(`${url}: ${message}`, refused ? 'REMOTE_UNAUTHORIZED' : 'REMOTE_UNREACHABLE')
}
