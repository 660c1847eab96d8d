import {
  databaseErrors,
  type SqlParameters,
  type SqlResult,
  type SqlValue,
  type ThreadConnection
} from '@svc/contracts'
import { defined, isSvcError } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { durationText } from '../interpreter/time-limit.ts'
import type { Bridge } from '../threads/bridge.ts'
import type { RunningTime } from './program-database.ts'

/** Requests to the database process; `processAnswers` passes them on. */
export type ProcessQuestion =
  | { readonly op: 'query' | 'rows' | 'row' | 'execute'; readonly sql: string; readonly parameters?: SqlParameters }
  | { readonly op: 'begin'; readonly kind: 'read' | 'write' }
  | { readonly op: 'commit' | 'rollback' | 'close' }

/** Kind of the request on the bridge. */
export const PROCESS_QUESTION = 'database process'

/** Time limit in milliseconds for commit, rollback, close and setup. */
const END_MS = 30_000

/**
 * A connection in a separate process. A statement that runs in a thread cannot be stopped, but a process can be
 * killed, which rolls back its uncommitted changes.
 */
export class OutOfProcessConnection implements ThreadConnection {
  /** Time limit of statements. */
  time: RunningTime = { left: () => END_MS, limit: () => durationText(END_MS) }
  readonly #bridge: Bridge
  readonly #location: string
  readonly #setup: readonly string[]
  /** True for a new, empty database that needs the setup. */
  #needsSetup = true
  #open: 'read' | 'write' | null = null
  /** True if the process ended during the open transaction. */
  #isLost = false
  #isUsed = false

  /** `setup` creates the tables of an in-memory database, which is empty in each new process. */
  constructor(bridge: Bridge, location: string, setup: readonly string[] = []) {
    this.#bridge = bridge
    this.#location = location
    this.#setup = setup
  }

  /** Runs the setup if the process is new. Throws the errors of the store. */
  setUp(): void {
    if (!this.#needsSetup || this.#setup.length === 0) return
    // A running process may hold a part of a failed setup.
    if (this.#isUsed) this.#ask({ op: 'close' }, END_MS)
    for (const sql of this.#setup) this.#ask({ op: 'execute', sql }, END_MS)
    this.#needsSetup = false
  }

  get inTransaction(): boolean {
    return this.#open !== null
  }

  query(sql: string, parameters?: SqlParameters): SqlResult {
    return this.#statement('query', sql, parameters) as SqlResult
  }

  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[] {
    return this.#statement('rows', sql, parameters) as SqlResult['rows']
  }

  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null {
    return this.#statement('row', sql, parameters) as SqlResult['rows'][number] | null
  }

  execute(sql: string, parameters?: SqlParameters): SqlResult {
    return this.#statement('execute', sql, parameters) as SqlResult
  }

  begin(kind: 'read' | 'write'): void {
    if (this.#open !== null) {
      throw databaseErrors.create('DBS_NESTED', `${this.#location}: this thread already has an open transaction`)
    }
    this.setUp()
    this.#ask({ op: 'begin', kind }, this.time.left())
    this.#open = kind
  }

  commit(): void {
    this.#assertNotLost()
    this.#open = null
    this.#ask({ op: 'commit' }, END_MS)
  }

  rollback(): void {
    const isOpen = this.#open !== null && !this.#isLost
    this.#open = null
    this.#isLost = false
    if (isOpen) this.#ask({ op: 'rollback' }, END_MS)
    // The setup runs now, so that it does not count against the time limit of the next transaction.
    this.setUp()
  }

  /** Does nothing: the database is not a replica. */
  sync(): void {}

  close(): void {
    if (this.#isUsed) this.#ask({ op: 'close' }, END_MS)
    this.#isUsed = false
    this.#open = null
  }

  #statement(op: 'query' | 'rows' | 'row' | 'execute', sql: string, parameters: SqlParameters | undefined): unknown {
    this.#assertNotLost()
    if (this.#open === null) this.setUp()
    return this.#ask({ op, sql, ...defined({ parameters }) }, this.time.left())
  }

  #ask(question: ProcessQuestion, milliseconds: number): unknown {
    this.#isUsed = true
    try {
      return this.#bridge.ask(PROCESS_QUESTION, question, milliseconds)
    } catch (error) {
      const isLate = isSvcError(error, 'RUN_TIME_LIMIT')
      const hasEnded = isLate || isSvcError(error, 'DBS_LOST') || isSvcError(error, 'RUN_MEMORY_LIMIT')
      this.#isLost ||= this.#open !== null && hasEnded
      this.#needsSetup ||= hasEnded
      if (!isLate) throw error
      const message = `a statement was stopped at the time limit: ${this.time.limit()}`
      throw runErrors.create('RUN_TIME_LIMIT', message)
    }
  }

  /** Throws if the transaction is lost: later statements would be committed separately. */
  #assertNotLost(): void {
    if (!this.#isLost) return
    throw databaseErrors.create(
      'DBS_TRANSACTION_ENDED',
      `${this.#location}: an earlier failure rolled back the transaction`
    )
  }
}
