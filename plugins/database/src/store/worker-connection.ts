import { Worker } from 'node:worker_threads'
import { databaseErrors, type SqlResult } from '@svc/contracts'
import type { SvcError } from '@svc/plugin-sdk'
import type {
  BoundStatement,
  EngineInfo,
  OperationName,
  SqlOutcome,
  WorkerOperations,
  WorkerPlace,
  WorkerReply,
  WorkerRequest
} from '../worker/protocol.ts'
import type { DatabaseConnection } from './connection.ts'
import { storeError } from './failures.ts'

/** Script in the compiled plugin's folder: threads cannot load TypeScript sources. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/store-worker.cjs' : './store-worker.cjs',
  import.meta.url
)

interface Pending {
  readonly statement: BoundStatement | undefined
  resolve(answer: unknown): void
  reject(error: unknown): void
}

interface Thread {
  readonly worker: Worker
  readonly pending: Map<number, Pending>
  /** Requests of this turn of the event loop, which are sent together. */
  readonly outbox: WorkerRequest[]
  /** Settles with the thread's first call, which opens the database. */
  readonly opened: Promise<EngineInfo>
  readonly ended: Promise<void>
}

/**
 * Connection in a separate thread, which keeps the event loop free. If the thread dies, its pending calls fail, and the
 * next call starts a new thread, unless the database was in memory.
 */
export class WorkerConnection implements DatabaseConnection {
  readonly #place: WorkerPlace
  readonly #location: string
  #thread: Thread | null = null
  #next = 0
  #inTransaction = false
  /** The file that the first thread opened. */
  #file: EngineInfo['id']
  /** Reason why no new thread is started. */
  #over: SvcError | null = null

  constructor(place: WorkerPlace, location: string) {
    this.#place = place
    this.#location = location
  }

  open(): Promise<EngineInfo> {
    return this.#ready().opened
  }

  query(statement: BoundStatement): Promise<SqlResult> {
    return this.#ask('query', statement, statement)
  }

  group(statements: readonly BoundStatement[]): Promise<readonly SqlOutcome[]> {
    return this.#ask('group', statements)
  }

  async batch(statements: readonly BoundStatement[]): Promise<readonly SqlResult[]> {
    return this.#ask('batch', statements)
  }

  standalone(statement: BoundStatement): Promise<SqlResult> {
    return this.#ask('standalone', statement, statement)
  }

  async begin(): Promise<void> {
    await this.#ask('begin', null)
    this.#inTransaction = true
  }

  async run(statement: BoundStatement): Promise<SqlResult> {
    this.#assertInTransaction()
    return this.#ask('run', statement, statement)
  }

  async commit(): Promise<void> {
    this.#assertInTransaction()
    this.#inTransaction = false
    await this.#ask('commit', null)
  }

  async rollback(): Promise<void> {
    // The death of the thread has rolled back the transaction.
    if (!this.#inTransaction) return
    this.#inTransaction = false
    await this.#ask('rollback', null)
  }

  async backup(file: string): Promise<void> {
    await this.#ask('backup', file)
  }

  async sync(): Promise<void> {
    await this.#ask('sync', null)
  }

  async verify(): Promise<void> {
    await this.#ask('verify', null)
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#over ??= databaseErrors.create('DBS_CLOSED', `${this.#location} is closed`)
    if (thread === null) return
    await this.#send(thread, 'close', null).catch(() => {})
    // Keep the process alive until the thread has ended and released the file.
    thread.worker.ref()
    await thread.ended
  }

  #assertInTransaction(): void {
    if (!this.#inTransaction) throw this.#lost('its thread ended during a transaction, which was rolled back')
  }

  async #ask<O extends OperationName>(
    op: O,
    given: WorkerOperations[O]['given'],
    statement?: BoundStatement
  ): Promise<WorkerOperations[O]['answer']> {
    const thread = this.#ready()
    await thread.opened
    return this.#send(thread, op, given, statement)
  }

  #send<O extends OperationName>(
    { worker, pending, outbox }: Thread,
    op: O,
    given: WorkerOperations[O]['given'],
    statement?: BoundStatement
  ): Promise<WorkerOperations[O]['answer']> {
    return new Promise((resolve, reject) => {
      const id = this.#next++
      pending.set(id, { statement, resolve: resolve as Pending['resolve'], reject })
      worker.ref()
      outbox.push({ id, op, given })
      if (outbox.length === 1) Promise.resolve().then(() => worker.postMessage(outbox.splice(0)))
    })
  }

  #ready(): Thread {
    if (this.#over !== null) throw this.#over
    this.#thread ??= this.#start()
    return this.#thread
  }

  #start(): Thread {
    const place: WorkerPlace = this.#file === undefined ? this.#place : { ...this.#place, expected: this.#file }
    // The thread does not inherit the loaders and flags of this process.
    const worker = new Worker(SCRIPT, { workerData: place, execArgv: [] })
    // An idle thread must not keep the process alive.
    worker.unref()
    const pending = new Map<number, Pending>()
    let reason = 'its thread ended'
    worker.on('message', (replies: readonly WorkerReply[]) => {
      for (const reply of replies) this.#settle(pending, reply)
      if (pending.size === 0) worker.unref()
    })
    worker.on('error', error => {
      reason = `its thread ended with an error: ${error.message}`
    })
    const ended = new Promise<void>(resolve => {
      worker.once('exit', () => {
        this.#gone(pending, reason)
        resolve()
      })
    })
    const thread: { -readonly [K in keyof Thread]: Thread[K] } = {
      worker,
      pending,
      outbox: [],
      opened: Promise.resolve({ fts: false, vector: false }),
      ended
    }
    thread.opened = this.#send(thread, 'open', null).then(info => {
      this.#file ??= info.id
      return info
    })
    // If opening fails, the next call tries again.
    thread.opened.catch(async () => {
      if (this.#thread === thread) this.#thread = null
      await worker.terminate()
    })
    return thread
  }

  #settle(pending: Map<number, Pending>, reply: WorkerReply): void {
    const waiting = pending.get(reply.id)
    pending.delete(reply.id)
    if (reply.ok) waiting?.resolve(reply.answer)
    else waiting?.reject(storeError(reply.failure, this.#location, waiting.statement))
  }

  #gone(pending: Map<number, Pending>, reason: string): void {
    if (this.#thread?.pending === pending) {
      this.#thread = null
      this.#inTransaction = false
      if (this.#place.engine === 'sqljs') this.#over ??= this.#lost(`${reason}, and the database in memory is lost`)
    }
    for (const { reject } of pending.values()) reject(this.#lost(reason))
    pending.clear()
  }

  #lost(why: string): SvcError {
    return databaseErrors.create('DBS_LOST', `${this.#location}: ${why}`, {
      hint: 'check whether the database has the last change'
    })
  }
}
