import { writeFileSync } from 'node:fs'
import type { SqlResult } from '@svc/contracts'
import initSqlJs from 'sql.js'
import { type BoundValue, readValue } from '../sql/engine-values.ts'
import { rewriteParameters } from '../sql/parameters.ts'
import { CHANGING, type Engine, EngineFailure, INSERTING, PRIVATE_MODE } from './engine.ts'
import { locate } from './locate.ts'
import type { BoundStatement, EngineInfo } from './protocol.ts'
import { StatementCache } from './statement-cache.ts'

/** Types of the part of sql.js that is used here; it ships no types. */
interface PortableStatement {
  bind(values: readonly unknown[]): boolean
  step(): boolean
  get(parameters: null, options: { readonly useBigInt: true }): (bigint | number | string | Uint8Array | null)[]
  getColumnNames(): string[]
  reset(): void
  free(): boolean
}
interface PortableDatabase {
  prepare(sql: string): PortableStatement
  exec(sql: string): unknown
  run(sql: string): unknown
  getRowsModified(): number
  export(): Uint8Array
  close(): void
}

const STATEMENTS = 256
const MAX_INT32 = 2n ** 31n - 1n
/** Codes by SQLite's messages: errors of sql.js have no code. */
const CODES: readonly (readonly [RegExp, string])[] = [
  [/^UNIQUE constraint failed/, 'SQLITE_CONSTRAINT_UNIQUE'],
  [/^CHECK constraint failed/, 'SQLITE_CONSTRAINT_CHECK'],
  [/^NOT NULL constraint failed/, 'SQLITE_CONSTRAINT_NOTNULL'],
  [/^FOREIGN KEY constraint failed/, 'SQLITE_CONSTRAINT_FOREIGNKEY'],
  [/constraint failed/, 'SQLITE_CONSTRAINT'],
  [/^datatype mismatch/, 'SQLITE_MISMATCH'],
  [/readonly database/, 'SQLITE_READONLY'],
  [/is full$/, 'SQLITE_FULL'],
  [/^string or blob too big/, 'SQLITE_TOOBIG'],
  [/malformed$|^file is not a database/, 'SQLITE_CORRUPT'],
  [/out of memory/i, 'SQLITE_NOMEM']
]

/** Engine for in-memory databases on every platform: SQLite compiled to WebAssembly. */
export class SqlJsEngine implements Engine {
  readonly #database: PortableDatabase
  readonly #settings: string
  readonly #statements = new StatementCache<PortableStatement>(STATEMENTS, statement => void statement.free())

  private constructor(database: PortableDatabase, settings: string) {
    this.#database = database
    this.#settings = settings
    database.run(settings)
  }

  /** Opens a database. `settings`: statements to run after every opening. */
  static async open(settings: string): Promise<SqlJsEngine> {
    const { Database } = (await initSqlJs()) as { readonly Database: new () => PortableDatabase }
    return new SqlJsEngine(new Database(), settings)
  }

  /** Probes with BEGIN, since sql.js does not export SQLite's `autocommit`. */
  get inTransaction(): boolean {
    try {
      this.#database.run('BEGIN')
      this.#database.run('ROLLBACK')
      return false
    } catch {
      return true
    }
  }

  run({ sql, values, verb }: BoundStatement): SqlResult {
    const large = values.map(isLarge)
    const text = large.includes(true)
      ? rewriteParameters(sql, at => (large[at - 1] === true ? `(?${at}+0)` : null))
      : sql
    const statement = this.#statements.take(text, () => this.#prepare(sql, text))
    try {
      statement.bind(values.map(bindPortable))
      const rows: SqlResult['rows'][number][] = []
      while (statement.step()) rows.push(statement.get(null, { useBigInt: true }).map(readValue))
      const columns = statement.getColumnNames()
      statement.reset()
      if (!CHANGING.has(verb)) return { columns, rows, changes: 0, lastInsertId: null }
      const changes = this.#database.getRowsModified()
      const lastInsertId = INSERTING.has(verb) && changes > 0 ? this.#lastInsertId() : null
      return { columns, rows, changes, lastInsertId }
    } catch (error) {
      this.#statements.drop(text)
      throw portableFailure(error)
    }
  }

  exec(sql: string): void {
    try {
      this.#database.run(sql)
    } catch (error) {
      throw portableFailure(error)
    }
  }

  info(): EngineInfo {
    try {
      this.#database.exec('SELECT fts5_source_id()')
      return { fts: true, vector: false }
    } catch {
      return { fts: false, vector: false }
    }
  }

  backup(file: string): void {
    this.#statements.clear()
    // `export` closes and reopens the database.
    const bytes = this.#database.export()
    this.#database.run(this.#settings)
    writeFileSync(file, bytes, { flag: 'wx', flush: true, mode: PRIVATE_MODE })
  }

  sync(): void {}

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }

  #prepare(sql: string, text: string): PortableStatement {
    try {
      return this.#database.prepare(text)
    } catch (error) {
      const { message, code } = portableFailure(error)
      const complain = (prefix: string): string | null => {
        try {
          this.#database.prepare(prefix).free()
          return null
        } catch (inner) {
          return portableFailure(inner).message
        }
      }
      throw new EngineFailure(message, code, true, locate(sql, message, complain))
    }
  }

  #lastInsertId(): number | bigint {
    const sql = 'SELECT last_insert_rowid()'
    const statement = this.#statements.take(sql, () => this.#database.prepare(sql))
    statement.step()
    const [id = 0] = statement.get(null, { useBigInt: true })
    statement.reset()
    return readValue(id) as number | bigint
  }
}

function isLarge(value: BoundValue): boolean {
  return typeof value === 'bigint' && (value > MAX_INT32 || value < -MAX_INT32 - 1n)
}

/** Converts a value for sql.js. It binds only 32-bit integers; larger ones are bound as text and converted by `+0`. */
function bindPortable(value: BoundValue): unknown {
  if (typeof value !== 'bigint') return value
  return isLarge(value) ? String(value) : Number(value)
}

function portableFailure(error: unknown): EngineFailure {
  const message = error instanceof Error ? error.message : String(error)
  return new EngineFailure(message, CODES.find(([pattern]) => pattern.test(message))?.[1] ?? 'SQLITE_ERROR')
}
