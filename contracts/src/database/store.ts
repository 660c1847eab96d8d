import { service } from '@svc/plugin-sdk'
import type { ThreadAccess } from './thread.ts'
import type { SqlParameters, SqlResult, SqlStatement } from './values.ts'

/**
 * The primary database: a file of the project unless the settings name another location.
 *
 * It is opened at the first use, with the baseline schema. All methods throw `DBS_OPEN_FAILED` while it cannot be
 * opened.
 */
export const databaseStore = service<PrimaryDatabase>('database.store@1')

export interface PrimaryDatabase extends DatabaseStore {
  /**
   * Opens another database: an empty one in memory, or a file, relative to the project. The caller closes it. Throws
   * `DBS_OPEN_FAILED`, `DBS_CORRUPT`, and `DBS_NO_BINDING` for a file if the native binding is missing.
   */
  open(place: 'memory' | { readonly file: string }): Promise<DatabaseStore>
  /**
   * Returns access for one thread to a separate, empty in-memory database. `maxBytes`: its maximum size; a change beyond
   * it fails with `DBS_FULL`. Throws `DBS_NO_BINDING` if the native binding is missing.
   */
  memoryAccess(maxBytes?: number): ThreadAccess
  /** Opens the database if needed, and returns its health. Never throws. */
  status(): Promise<DatabaseStatus>
}

export interface DatabaseStatus {
  readonly ok: boolean
  readonly mode: DatabaseMode
  /** Path or URL; never a token. */
  readonly location: string
  readonly capabilities: DatabaseCapabilities | null
  readonly schemaVersion: number | null
  readonly expectedVersion: number
  /** Schema digest stored in the database, and the digest that this version of svc expects. */
  readonly digest: string | null
  readonly expectedDigest: string
  readonly missingTables: readonly string[]
  /** One sentence per problem. */
  readonly problems: readonly string[]
}

export type DatabaseMode = 'memory' | 'file' | 'remote' | 'replica'

export interface DatabaseCapabilities {
  /** Full-text search with FTS5. */
  readonly fts: boolean
  /** Vector functions and indexes. */
  readonly vector: boolean
  /** Whether the database is a replica of a remote one, updated by `sync`. */
  readonly replica: boolean
  /** Acknowledged writes survive a killed process. */
  readonly durable: boolean
  /** Whether writers do not wait for each other. */
  readonly mvcc: boolean
  /** Whether `backup` works. */
  readonly backup: boolean
}

export interface DatabaseCallOptions {
  /** Ends the wait in the queue. A call that has started continues. */
  readonly signal?: AbortSignal
}

export interface DatabaseTransactionOptions extends DatabaseCallOptions {
  /** Time limit in milliseconds, after which the transaction is rolled back; default 30,000. */
  readonly timeoutMs?: number
}

/** Statements inside one transaction. After its end they throw `DBS_TRANSACTION_ENDED`. */
export interface DatabaseTransaction {
  query(sql: string, parameters?: SqlParameters): Promise<SqlResult>
  execute(sql: string, parameters?: SqlParameters): Promise<SqlResult>
}

/**
 * A SQL database in SQLite's dialect.
 *
 * - A promise that resolves means that the change is committed, and durable if the capabilities say so.
 * - Writers run one at a time, in the order of their calls. Queries see committed rows.
 * - A SQL string holds one statement, except for `migrate`. Prepared statements are cached.
 * - Statements that begin, end or nest transactions throw `DBS_STATEMENT_REFUSED`, as do ATTACH and DETACH.
 * - Inside `transaction`, calls on the store itself throw `DBS_NESTED`: they would wait for the transaction forever.
 *
 * All methods may throw `DBS_BUSY`, `DBS_CLOSED`, `DBS_CONSTRAINT`, `DBS_CORRUPT`, `DBS_FAILED`, `DBS_FILE_LOST`,
 * `DBS_FULL`, `DBS_LOST`, `DBS_READ_ONLY`, `DBS_SYNTAX`, `DBS_UNAUTHORIZED`, `DBS_UNREACHABLE` and `DBS_VALUE_INVALID`.
 */
export interface DatabaseStore {
  readonly mode: DatabaseMode
  readonly location: string
  capabilities(): Promise<DatabaseCapabilities>
  /** Reads. A statement that would write throws `DBS_READ_ONLY`. */
  query(sql: string, parameters?: SqlParameters, options?: DatabaseCallOptions): Promise<SqlResult>
  /** Writes, in a separate transaction. */
  execute(sql: string, parameters?: SqlParameters, options?: DatabaseCallOptions): Promise<SqlResult>
  /**
   * Runs all statements or none, in one transaction. `data.statement` of an error is the index of the failed statement.
   */
  batch(statements: readonly SqlStatement[], options?: DatabaseCallOptions): Promise<readonly SqlResult[]>
  /** Commits when `run` resolves. When it throws, rolls back and rethrows. */
  transaction<A>(run: (tx: DatabaseTransaction) => Promise<A>, options?: DatabaseTransactionOptions): Promise<A>
  /** Runs several statements from one SQL string, without parameters, in one transaction: a schema change. */
  migrate(sql: string, options?: DatabaseCallOptions): Promise<void>
  /** Brings a replica up to date; does nothing in other modes. */
  sync(): Promise<void>
  /**
   * Writes a consistent copy while other calls continue. `file` is an absolute path that must not exist. Throws
   * `DBS_UNSUPPORTED` and `DBS_BACKUP_FAILED`.
   */
  backup(file: string): Promise<void>
  /**
   * Returns access for threads, whose connections are synchronous; null if the database is not a file that several
   * connections can share.
   */
  threadAccess(): Promise<ThreadAccess | null>
  /** Waits for calls that have started; later calls throw `DBS_CLOSED`. Idempotent. */
  close(): Promise<void>
}
