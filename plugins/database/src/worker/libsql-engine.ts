import { createRequire } from 'node:module'
import type { SqlResult } from '@svc/contracts'
import { readValue } from '../sql/engine-values.ts'
import { CHANGING, type Engine, EngineFailure, INSERTING } from './engine.ts'
import { locate } from './locate.ts'
import type { BoundStatement, Facts, WorkerPlace } from './protocol.ts'
import { StatementCache } from './statement-cache.ts'

/** What is used of the binding; its own types lack the half of it. */
interface NativeStatement {
  readonly reader: boolean
  raw(on: boolean): this
  safeIntegers(on: boolean): this
  columns(): { readonly name: string }[]
  all(values: readonly unknown[]): (bigint | number | string | Buffer | null)[][]
  run(values: readonly unknown[]): { readonly changes: number; readonly lastInsertRowid: number }
}
interface NativeDatabase {
  readonly inTransaction: boolean
  prepare(sql: string): NativeStatement
  exec(sql: string): void
  sync(): void
  close(): void
}
type NativeConstructor = new (file: string, options: Readonly<Record<string, unknown>>) => NativeDatabase

const STATEMENTS = 256
/** A statement that reads a replica keeps the values that it was given first (libsql 0.5.29): each is prepared anew. */
const REPLICA_STATEMENTS = 0

export class LibsqlEngine implements Engine {
  readonly #database: NativeDatabase
  readonly #url: string | undefined
  readonly #statements: StatementCache<NativeStatement>

  /** Throws `EngineFailure`, with the code `NO_BINDING` where the native part is missing. */
  constructor({ file, replicaOf }: WorkerPlace) {
    const Native = loadBinding()
    this.#url = replicaOf?.url
    this.#statements = new StatementCache(replicaOf === undefined ? STATEMENTS : REPLICA_STATEMENTS, () => {})
    try {
      const remote = replicaOf === undefined ? {} : { syncUrl: replicaOf.url, authToken: replicaOf.token }
      this.#database = new Native(file, remote)
    } catch (error) {
      throw openFailure(nativeFailure(error).message, replicaOf?.url)
    }
  }

  get inTransaction(): boolean {
    return this.#database.inTransaction
  }

  run({ sql, values, verb }: BoundStatement): SqlResult {
    const statement = this.#statements.take(sql, () => this.#prepare(sql))
    try {
      // Always an array: a single value of another kind would end the process.
      if (!statement.reader) return this.#changed(verb, [], [], statement.run(values))
      const rows = statement.all(values).map(row => row.map(readNative))
      // Asked only now: after a change of schema the statement was compiled again by its first step.
      const columns = statement.columns().map(({ name }) => name)
      return this.#changed(verb, columns, rows, null)
    } catch (error) {
      // One that failed to get a lock is not reset, and what follows it would be acknowledged without being committed.
      this.#statements.drop(sql)
      throw nativeFailure(error)
    }
  }

  exec(sql: string): void {
    attempt(() => this.#database.exec(sql))
  }

  facts(): Facts {
    const works = (sql: string): boolean => {
      try {
        this.#database.prepare(sql).all([])
        return true
      } catch {
        return false
      }
    }
    return { fts: works('SELECT fts5_source_id()'), vector: works("SELECT vector32('[1]')") }
  }

  backup(file: string): void {
    attempt(() => this.#database.prepare('VACUUM INTO ?').run([file]))
  }

  sync(): void {
    try {
      this.#database.sync()
    } catch (error) {
      throw openFailure(nativeFailure(error).message, this.#url)
    }
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }

  #prepare(sql: string): NativeStatement {
    try {
      const statement = this.#database.prepare(sql).safeIntegers(true)
      return statement.reader ? statement.raw(true) : statement
    } catch (error) {
      const failure = nativeFailure(error)
      throw new EngineFailure(failure.message, failure.code, true, this.#locate(sql, failure.message))
    }
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

  /** The binding's numbers are SQLite's running ones, which a statement that changes nothing leaves as they were. */
  #changed(
    verb: string,
    columns: readonly string[],
    rows: SqlResult['rows'],
    told: { readonly changes: number; readonly lastInsertRowid: number } | null
  ): SqlResult {
    if (!CHANGING.has(verb)) return { columns, rows, changes: 0, lastInsertId: null }
    const exact = told !== null && Number.isSafeInteger(told.lastInsertRowid)
    const [changes, lastInsertId] = exact ? [told.changes, told.lastInsertRowid] : this.#counts()
    const inserted = INSERTING.has(verb) && Number(changes) > 0
    return { columns, rows, changes: Number(changes), lastInsertId: inserted ? lastInsertId : null }
  }

  #counts(): [number, number | bigint] {
    const sql = 'SELECT changes(), last_insert_rowid()'
    const [row = []] = this.#statements.take(sql, () => this.#prepare(sql)).all([])
    return row.map(readNative) as [number, number | bigint]
  }
}

function loadBinding(): NativeConstructor {
  try {
    return createRequire(import.meta.url)('libsql') as NativeConstructor
  } catch (error) {
    throw new EngineFailure(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error), 'NO_BINDING')
  }
}

/** Buffers of the binding may share memory with others. */
function readNative(value: bigint | number | string | Buffer | null) {
  return readValue(value instanceof Uint8Array ? new Uint8Array(value) : value)
}

function attempt<A>(run: () => A): A {
  try {
    return run()
  } catch (error) {
    throw nativeFailure(error)
  }
}

/** SQLite's result codes by their number, and those of constraints by the larger one that says which. */
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
  // What the primary of a replica refused arrives as text alone.
  const [, , number, said] = /RemoteSqliteFailure\((\d+), (\d+), "([\s\S]*)"\)/.exec(text) ?? []
  if (number !== undefined && said !== undefined) {
    const result = RESULTS[Number(number)] ?? RESULTS[Number(number) & 0xff] ?? 'SQLITE_ERROR'
    return new EngineFailure(said, result)
  }
  return new EngineFailure(text, typeof code === 'string' ? code : 'SQLITE_ERROR')
}

/** The binding has one kind of error for this, in the words of its own sources. `url`: of the database that is copied. */
function openFailure(message: string, url: string | undefined): EngineFailure {
  if (url === undefined) return new EngineFailure('the file can be neither opened nor made', 'SQLITE_CANTOPEN')
  const refused = /\b40[13]\b|unauthori[sz]ed|unauthenticated|permission denied/i.test(message)
  return new EngineFailure(`${url}: ${message}`, refused ? 'REMOTE_UNAUTHORIZED' : 'REMOTE_UNREACHABLE')
}
