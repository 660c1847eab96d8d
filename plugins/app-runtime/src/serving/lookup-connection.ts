import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { SqlParameters, SqlResult, SqlValue, ThreadAccess, ThreadConnection } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import type { DatabaseAccess } from '../database/access.ts'
import { connectThread } from '../database/connect-thread.ts'
import { SqlLog } from '../database/sql-log.ts'

/** The built script, next to the compiled plugin. */
const RUNNER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/lookup-runner.cjs' : './lookup-runner.cjs', import.meta.url)
)

/** A read-only connection of the main thread. Never waits for a lock; `hasFailed` records failures. */
export class LookupConnection implements ThreadConnection {
  hasFailed = false
  /** Statements of the last lookup. */
  readonly log = new SqlLog()
  readonly #access: ThreadAccess
  #opened: ThreadConnection | null = null
  #runner: typeof import('./lookup-runner.ts') | null = null

  constructor(access: ThreadAccess) {
    this.#access = access
  }

  /** Opens the connection. Throws the errors of opening the database. */
  open(): void {
    this.#opened ??= connectThread(this.#access, 0)
  }

  /** The module that runs queries. Loaded on first use, once for all reloads. */
  get runner(): typeof import('./lookup-runner.ts') {
    if (this.#runner === null) {
      const require = createRequire(import.meta.url)
      // The script may have been rebuilt since an earlier connection loaded it.
      delete require.cache[RUNNER]
      this.#runner = require(RUNNER) as typeof import('./lookup-runner.ts')
    }
    return this.#runner
  }

  get inTransaction(): boolean {
    return this.#opened?.inTransaction ?? false
  }

  query(sql: string, parameters?: SqlParameters): SqlResult {
    return this.#watched(connection => connection.query(sql, parameters))
  }

  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[] {
    return this.#watched(connection => connection.rows(sql, parameters))
  }

  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null {
    return this.#watched(connection => connection.row(sql, parameters))
  }

  execute(sql: string, parameters?: SqlParameters): SqlResult {
    return this.#watched(connection => connection.execute(sql, parameters))
  }

  begin(kind: 'read' | 'write'): void {
    this.#watched(connection => connection.begin(kind))
  }

  commit(): void {
    this.#watched(connection => connection.commit())
  }

  rollback(): void {
    this.#opened?.rollback()
  }

  sync(): void {
    this.#watched(connection => connection.sync())
  }

  /** Closes the connection, which can be opened again. */
  close(): void {
    this.#opened?.close()
    this.#opened = null
  }

  #watched<A>(run: (connection: ThreadConnection) => A): A {
    try {
      this.open()
      return run(this.#opened as ThreadConnection)
    } catch (error) {
      this.hasFailed = true
      throw error
    }
  }
}

/**
 * Returns the connection for all lookups in a database file; null if a thread cannot connect to it. The connection
 * outlives a reload, because its prepared statements, and so the file, are freed only by garbage collection.
 */
export async function keepLookupConnection(
  ctx: Pick<PluginContext, 'keep'>,
  { thread, location }: DatabaseAccess
): Promise<LookupConnection | null> {
  if (thread === null) return null
  // The inode is part of the key, because another file may have replaced the previous one.
  const file = await stat(location).catch(() => null)
  if (file === null) return null
  const { mtimeMs } = await stat(RUNNER)
  return ctx.keep(
    `lookups in ${location}, ${file.dev} ${file.ino}, by ${mtimeMs}`,
    () => new LookupConnection(thread),
    connection => connection.close()
  )
}
