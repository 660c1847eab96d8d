import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { SqlParameters, SqlResult, SqlValue, ThreadAccess, ThreadConnection } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import type { DatabaseAccess } from '../database/access.ts'
import { connectThread } from '../database/connect-thread.ts'

/** The script is next to the compiled plugin. */
const RUNNER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/lookup-runner.cjs' : './lookup-runner.cjs', import.meta.url)
)

/** A read-only connection of the main thread: it never waits, and remembers failures. */
export class LookupConnection implements ThreadConnection {
  hasFailed = false
  readonly #access: ThreadAccess
  #opened: ThreadConnection | null = null
  #runner: typeof import('./lookup-runner.ts') | null = null

  constructor(access: ThreadAccess) {
    this.#access = access
  }

  /** Throws the errors of opening the database. */
  open(): void {
    this.#opened ??= connectThread(this.#access, 0)
  }

  /** Runs queries on it. It is loaded on first use, once for all reloads. */
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

  /** It can be opened again. */
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
 * The connection for all lookups in a file. It outlives a reload, because its prepared statements, and so the file, are
 * freed only by garbage collection. null if threads have no separate connections.
 */
export async function keepLookupConnection(
  ctx: Pick<PluginContext, 'keep'>,
  { thread, location }: DatabaseAccess
): Promise<LookupConnection | null> {
  if (thread === null) return null
  // Another file may have replaced the previous one.
  const file = await stat(location).catch(() => null)
  if (file === null) return null
  const { mtimeMs } = await stat(RUNNER)
  return ctx.keep(
    `lookups in ${location}, ${file.dev} ${file.ino}, by ${mtimeMs}`,
    () => new LookupConnection(thread),
    connection => connection.close()
  )
}
