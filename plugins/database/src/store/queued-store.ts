import { AsyncLocalStorage } from 'node:async_hooks'
import { open, rename, rm, stat } from 'node:fs/promises'
import {
  type DatabaseCallOptions,
  type DatabaseCapabilities,
  type DatabaseMode,
  type DatabaseStore,
  type DatabaseTransaction,
  type DatabaseTransactionOptions,
  databaseErrors,
  type SqlParameters,
  type SqlResult,
  type SqlStatement,
  type ThreadAccess
} from '@svc/contracts'
import { defined, errorMessage, isSvcError, SvcError } from '@svc/plugin-sdk'
import { type AdmittedStatement, admit, assertTransactional, splitScript } from '../sql/admit.ts'
import { placeIn } from '../sql/scan.ts'
import type { EngineInfo } from '../worker/protocol.ts'
import type { DatabaseConnection } from './connection.ts'
import { storeError } from './failures.ts'
import { WriterQueue } from './writer-queue.ts'

const TRANSACTION_TIMEOUT_MS = 30_000

export interface QueuedStoreOptions {
  readonly mode: DatabaseMode
  /** Path or URL for messages. */
  readonly location: string
  readonly writer: DatabaseConnection
  /** Second connection, which sees committed rows; null: queries wait in the writers' queue. */
  readonly reader: DatabaseConnection | null
  /** Opens a connection for one backup; null: the writer's connection is used; undefined: backups are not supported. */
  readonly copier?: (() => DatabaseConnection) | null
  /** Access for threads, if supported. */
  readonly threads?: ThreadAccess
}

/** Store on top of connections: checks statements, queues writers, and isolates transactions. */
export class QueuedStore implements DatabaseStore {
  readonly mode: DatabaseMode
  readonly location: string
  readonly #writer: DatabaseConnection
  readonly #reader: DatabaseConnection | null
  readonly #copier: (() => DatabaseConnection) | null | undefined
  readonly #threads: ThreadAccess | null
  readonly #queue: WriterQueue
  /** Open transaction of the current async context. */
  readonly #inside = new AsyncLocalStorage<{ open: boolean }>()
  readonly #copies = new Set<Promise<unknown>>()
  #closing: Promise<void> | null = null

  constructor({ mode, location, writer, reader, copier, threads }: QueuedStoreOptions) {
    this.mode = mode
    this.location = location
    this.#writer = writer
    this.#reader = reader
    this.#copier = copier
    this.#threads = threads ?? null
    this.#queue = new WriterQueue(
      statements => writer.group(statements),
      (failure, statement) => storeError(failure, location, statement)
    )
  }

  async capabilities(): Promise<DatabaseCapabilities> {
    const { fts, vector }: EngineInfo = await this.#writer.open()
    return {
      fts,
      vector,
      replica: this.mode === 'replica',
      durable: this.mode !== 'memory',
      mvcc: false,
      backup: this.#copier !== undefined
    }
  }

  async query(sql: string, parameters?: SqlParameters, { signal }: DatabaseCallOptions = {}): Promise<SqlResult> {
    this.#assertUsable()
    const statement = admit(sql, parameters, true)
    signal?.throwIfAborted()
    if (this.#reader !== null) return this.#reader.query(statement)
    return this.#queue.turn(() => this.#writer.query(statement), signal)
  }

  async execute(sql: string, parameters?: SqlParameters, { signal }: DatabaseCallOptions = {}): Promise<SqlResult> {
    this.#assertUsable()
    const statement = admit(sql, parameters, false)
    if (statement.standalone) return this.#queue.turn(() => this.#writer.standalone(statement), signal)
    return this.#queue.write(statement, signal)
  }

  async batch(
    statements: readonly SqlStatement[],
    { signal }: DatabaseCallOptions = {}
  ): Promise<readonly SqlResult[]> {
    this.#assertUsable()
    const admitted = statements.map((each, index) =>
      numbered(index, () => {
        const { sql, parameters } = typeof each === 'string' ? { sql: each, parameters: undefined } : each
        return assertTransactional(admit(sql, parameters, false))
      })
    )
    if (admitted.length === 0) return []
    return this.#queue.turn(async () => {
      try {
        return await this.#writer.batch(admitted)
      } catch (error) {
        throw withStatement(error, admitted)
      }
    }, signal)
  }

  async migrate(sql: string, { signal }: DatabaseCallOptions = {}): Promise<void> {
    this.#assertUsable()
    const parts = splitScript(sql)
    const admitted = parts.map((part, index) =>
      numbered(index, () => assertTransactional(admit(part.sql, undefined, false)))
    )
    if (admitted.length === 0) return
    await this.#queue.turn(async () => {
      try {
        await this.#writer.batch(admitted)
      } catch (error) {
        throw withPlaceInScript(withStatement(error, admitted), sql, parts)
      }
    }, signal)
  }

  async transaction<A>(
    run: (tx: DatabaseTransaction) => Promise<A>,
    { signal, timeoutMs = TRANSACTION_TIMEOUT_MS }: DatabaseTransactionOptions = {}
  ): Promise<A> {
    this.#assertUsable()
    return this.#queue.turn(async () => {
      await this.#writer.begin()
      const state = { open: true, ended: 'it has ended' }
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          state.ended = `it took more than ${timeoutMs} ms and was rolled back`
          reject(this.#ended(state.ended))
        }, timeoutMs)
      })
      const step = (sql: string, parameters: SqlParameters | undefined, reads: boolean): Promise<SqlResult> => {
        if (!state.open) throw this.#ended(state.ended)
        return this.#writer.run(assertTransactional(admit(sql, parameters, reads)))
      }
      const tx: DatabaseTransaction = {
        query: async (sql, parameters) => step(sql, parameters, true),
        execute: async (sql, parameters) => step(sql, parameters, false)
      }
      try {
        const result = await Promise.race([this.#inside.run(state, async () => run(tx)), late])
        state.open = false
        await this.#writer.commit()
        return result
      } catch (error) {
        state.open = false
        await this.#writer.rollback()
        throw error
      } finally {
        clearTimeout(timer)
        // Before Node 24 a storage in use makes every promise slower. Transactions of a store do not overlap.
        this.#inside.disable()
      }
    }, signal)
  }

  async sync(): Promise<void> {
    this.#assertUsable()
    await this.#queue.turn(() => this.#writer.sync(), undefined)
  }

  /** Rejects with `DBS_FILE_LOST` if the file is no longer the opened one. */
  async verify(): Promise<void> {
    this.#assertUsable()
    await this.#writer.verify?.()
  }

  async threadAccess(): Promise<ThreadAccess | null> {
    this.#assertUsable()
    return this.#threads
  }

  async backup(file: string): Promise<void> {
    this.#assertUsable()
    if (this.#copier === undefined)
      throw databaseErrors.create('DBS_UNSUPPORTED', `${this.location}: it must be copied on its server`)
    const copying = this.#copy(file)
    this.#copies.add(copying)
    try {
      await copying
    } finally {
      this.#copies.delete(copying)
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#queue.idle()
    await Promise.allSettled(this.#copies)
    await this.#reader?.close()
    await this.#writer.close()
  }

  /** Writes to a temporary file and renames it, so that `file` is never a partial copy. */
  async #copy(file: string): Promise<void> {
    const failed = (why: string, cause?: unknown): Error =>
      databaseErrors.create('DBS_BACKUP_FAILED', `${this.location} was not copied to ${file}: ${why}`, { cause })
    if ((await stat(file).catch(() => null)) !== null) throw failed('the file already exists')
    const partial = `${file}.partial-${process.pid}`
    try {
      if (this.#copier === null) await this.#queue.turn(() => this.#writer.backup(partial), undefined)
      else await using(this.#copier?.() as DatabaseConnection, connection => connection.backup(partial))
      const handle = await open(partial, 'r+')
      await handle.sync().finally(() => handle.close())
      await rename(partial, file)
    } catch (error) {
      await rm(partial, { force: true })
      if (isSvcError(error, 'DBS_FULL')) throw error
      throw failed(errorMessage(error), error)
    }
  }

  #assertUsable(): void {
    if (this.#closing !== null) throw databaseErrors.create('DBS_CLOSED', `${this.location} is closed`)
    if (this.#inside.getStore()?.open !== true) return
    throw databaseErrors.create('DBS_NESTED', `${this.location} is used inside one of its transactions`, {
      hint: 'use the transaction object of the callback; a call on the store would wait for the transaction forever'
    })
  }

  #ended(why: string): Error {
    return databaseErrors.create('DBS_TRANSACTION_ENDED', `${this.location}: a transaction cannot be used: ${why}`)
  }
}

async function using(
  connection: DatabaseConnection,
  run: (connection: DatabaseConnection) => Promise<void>
): Promise<void> {
  try {
    await run(connection)
  } finally {
    await connection.close()
  }
}

function numbered<A>(statement: number, run: () => A): A {
  try {
    return run()
  } catch (error) {
    throw isSvcError(error) ? amended(error, { data: { ...(error.data as object), statement } }) : error
  }
}

/** Adds the SQL of the failed statement to the error of a batch. */
function withStatement(error: unknown, statements: readonly AdmittedStatement[]): unknown {
  if (!isSvcError(error)) return error
  const data = (error.data ?? {}) as { statement?: number; offset?: number }
  const statement = data.statement === undefined ? undefined : statements[data.statement]
  if (statement === undefined) return error
  const at = data.offset === undefined ? error.at : placeIn(statement.sql, data.offset)
  return amended(error, { data: { ...data, sql: statement.sql }, ...defined({ at }) })
}

function withPlaceInScript(error: unknown, script: string, parts: ReturnType<typeof splitScript>): unknown {
  if (!isSvcError(error)) return error
  const data = (error.data ?? {}) as { statement?: number; offset?: number }
  const part = data.statement === undefined ? undefined : parts[data.statement]
  if (part === undefined) return error
  return amended(error, { at: placeIn(script, part.at + (data.offset ?? 0)) })
}

function amended(error: SvcError, changed: { readonly data?: unknown; readonly at?: SvcError['at'] }): SvcError {
  const { code, message, status, hint, plugin, cause } = error
  const at = changed.at ?? error.at
  return new SvcError(code, message, {
    status,
    ...defined({ hint, plugin, at }),
    data: changed.data ?? error.data,
    cause
  })
}
