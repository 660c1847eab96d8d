import type { Client, ResultSet, Transaction } from '@libsql/client/http'
import { databaseErrors, type SqlResult } from '@svc/contracts'
import { defined, isSvcError } from '@svc/plugin-sdk'
import { readValue } from '../sql/engine-values.ts'
import { rewriteParameters } from '../sql/parameters.ts'
import type { DatabaseConnection } from '../store/connection.ts'
import { storeError } from '../store/failures.ts'
import { CHANGING, INSERTING } from '../worker/engine.ts'
import type { BoundStatement, EngineInfo, SqlFailure, SqlOutcome } from '../worker/protocol.ts'
import { remoteFailure } from './remote-failure.ts'

export interface RemoteOptions {
  readonly url: string
  readonly token: string
  /** Time limit of one response, in milliseconds. */
  readonly timeoutMs: number
}

/** Connection to a remote database by the protocol Hrana over HTTP. */
export class RemoteConnection implements DatabaseConnection {
  readonly #options: RemoteOptions
  #client: Promise<Client> | null = null
  #info: Promise<EngineInfo> | null = null
  #transaction: Transaction | null = null

  constructor(options: RemoteOptions) {
    this.#options = options
  }

  open(): Promise<EngineInfo> {
    this.#info ??= this.#findInfo()
    // A failed attempt is not cached: the server may respond later.
    this.#info.catch(() => {
      this.#info = null
    })
    return this.#info
  }

  /** Retries once: a read is repeatable, and the server may have closed an idle connection. */
  async query(statement: BoundStatement): Promise<SqlResult> {
    try {
      return await this.#execute(statement, false)
    } catch (error) {
      if (!isSvcError(error, 'DBS_UNREACHABLE') || (error.data as { timedOut?: boolean }).timedOut === true) throw error
      return this.#execute(statement, false)
    }
  }

  /** Sends writes one after another: concurrent requests may arrive in any order. */
  async group(statements: readonly BoundStatement[]): Promise<readonly SqlOutcome[]> {
    const outcomes: SqlOutcome[] = []
    for (const statement of statements) {
      try {
        const client = await this.#ready()
        outcomes.push({ ok: true, result: toResult(await client.execute(toRemote(statement)), statement) })
      } catch (error) {
        outcomes.push({ ok: false, failure: this.#failure(error, true) })
      }
    }
    return outcomes
  }

  async batch(statements: readonly BoundStatement[]): Promise<readonly SqlResult[]> {
    const client = await this.#ready()
    try {
      const results = await client.batch(statements.map(toRemote), 'write')
      return results.map((result, index) => toResult(result, statements[index] as BoundStatement))
    } catch (error) {
      const failure = this.#failure(error, true)
      const { statementIndex } = error as { statementIndex?: number }
      throw this.#error({ ...failure, ...defined({ statement: statementIndex }) })
    }
  }

  standalone(statement: BoundStatement): Promise<SqlResult> {
    return this.#execute(statement, true)
  }

  async begin(): Promise<void> {
    const client = await this.#ready()
    try {
      this.#transaction = await client.transaction('write')
    } catch (error) {
      throw this.#error(this.#failure(error, false))
    }
  }

  async run(statement: BoundStatement): Promise<SqlResult> {
    const transaction = this.#open()
    try {
      return toResult(await transaction.execute(toRemote(statement)), statement)
    } catch (error) {
      throw this.#error(this.#failure(error, false), statement)
    }
  }

  async commit(): Promise<void> {
    const transaction = this.#open()
    this.#transaction = null
    try {
      await transaction.commit()
    } catch (error) {
      throw this.#error(this.#failure(error, true))
    } finally {
      transaction.close()
    }
  }

  /** Rolls back by closing the stream. The server also rolls back transactions of lost streams. */
  async rollback(): Promise<void> {
    const transaction = this.#transaction
    this.#transaction = null
    await transaction?.rollback().catch(() => {})
    transaction?.close()
  }

  async backup(): Promise<void> {
    throw databaseErrors.create('DBS_UNSUPPORTED', `${this.#options.url} must be copied on its server`)
  }

  async sync(): Promise<void> {}

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => null)
    client?.close()
  }

  async #findInfo(): Promise<EngineInfo> {
    // First checks that the server responds.
    await this.query({ sql: 'SELECT 1', values: [], verb: 'SELECT' })
    const works = (sql: string): Promise<boolean> =>
      this.query({ sql, values: [], verb: 'SELECT' }).then(
        () => true,
        error => {
          if (isSvcError(error, 'DBS_UNREACHABLE')) throw error
          return false
        }
      )
    return { fts: await works('SELECT fts5_source_id()'), vector: await works("SELECT vector32('[1]')") }
  }

  #open(): Transaction {
    if (this.#transaction !== null && !this.#transaction.closed) return this.#transaction
    throw databaseErrors.create('DBS_TRANSACTION_ENDED', `${this.#options.url}: the transaction's stream ended`)
  }

  async #execute(statement: BoundStatement, writes: boolean): Promise<SqlResult> {
    const client = await this.#ready()
    try {
      return toResult(await client.execute(toRemote(statement)), statement)
    } catch (error) {
      throw this.#error(this.#failure(error, writes), statement)
    }
  }

  #ready(): Promise<Client> {
    this.#client ??= connect(this.#options)
    return this.#client
  }

  #failure(error: unknown, writes: boolean): SqlFailure {
    return remoteFailure(error, writes, this.#options.timeoutMs)
  }

  #error(failure: SqlFailure, statement?: BoundStatement): Error {
    return storeError(failure, this.#options.url, statement)
  }
}

/** Connects with the HTTP-only module of the client, which does not load the native binding. */
async function connect({ url, token, timeoutMs }: RemoteOptions): Promise<Client> {
  const { createClient } = await import('@libsql/client/http')
  return createClient({
    url,
    authToken: token,
    intMode: 'bigint',
    fetch: (request: Request) => fetch(request, { signal: AbortSignal.timeout(timeoutMs) })
  })
}

/** Converts named parameters to positional ones: servers match names, but the values here are positional. */
function toRemote({ sql, values }: BoundStatement) {
  const named = values.length > 0 && /[:@$]/.test(sql)
  const text = named ? rewriteParameters(sql, (at, text) => (text.startsWith('?') ? null : `?${at}`)) : sql
  return { sql: text, args: [...values] }
}

function toResult({ columns, rows, rowsAffected, lastInsertRowid }: ResultSet, { verb }: BoundStatement): SqlResult {
  const changes = CHANGING.has(verb) ? rowsAffected : 0
  const inserted = INSERTING.has(verb) && changes > 0 && lastInsertRowid !== undefined
  return {
    columns,
    rows: rows.map(row => Array.from({ length: columns.length }, (_, at) => readValue(row[at] ?? null))),
    changes,
    lastInsertId: inserted ? (readValue(lastInsertRowid) as number | bigint) : null
  }
}
