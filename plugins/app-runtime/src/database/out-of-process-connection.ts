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

/** Client of a thread's connection in another process. */
export type ProcessQuestion =
  | { readonly op: 'query' | 'rows' | 'row' | 'execute'; readonly sql: string; readonly parameters?: SqlParameters }
  | { readonly op: 'begin'; readonly kind: 'read' | 'write' }
  | { readonly op: 'commit' | 'rollback' | 'close' }

/** Kind of the request on the bridge. */
export const PROCESS_QUESTION = 'database process'

/** Time limit for the end of a transaction and for work outside program calls, in milliseconds. */
const END_MS = 30_000

/**
 * A connection in a separate process. A running statement in a thread cannot be stopped; a process can be killed,
 * which rolls back its uncommitted changes.
 */
export class OutOfProcessConnection implements ThreadConnection {
  /** Resource limits of statements. */
  time: RunningTime = { left: () => END_MS, limit: () => durationText(END_MS) }
  readonly #bridge: Bridge
  readonly #location: string
  readonly #setup: readonly string[]
  /** True for a new, empty database that needs the setup. */
  #isBare = true
  #open: 'read' | 'write' | null = null
  /** True if the process ended during the open transaction. */
  #isLost = false
  #isUsed = false

  /** `setup`: statements run first in an in-memory database, which is empty in every new process. */
  constructor(bridge: Bridge, location: string, setup: readonly string[] = []) {
    this.#bridge = bridge
    this.#location = location
    this.#setup = setup
  }

  /** Throws the errors of the store. */
  setUp(): void {
    if (!this.#isBare || this.#setup.length === 0) return
    // A running process may hold a partial effect of a failed statement.
    if (this.#isUsed) this.#ask({ op: 'close' }, END_MS)
    for (const sql of this.#setup) this.#ask({ op: 'execute', sql }, END_MS)
    this.#isBare = false
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
    this.#assertThere()
    this.#open = null
    this.#ask({ op: 'commit' }, END_MS)
  }

  rollback(): void {
    const isThere = this.#open !== null && !this.#isLost
    this.#open = null
    this.#isLost = false
    if (isThere) this.#ask({ op: 'rollback' }, END_MS)
    // Synchronously, since the next transaction has its own time limit.
    this.setUp()
  }

  /** It is no replica. */
  sync(): void {}

  close(): void {
    if (this.#isUsed) this.#ask({ op: 'close' }, END_MS)
    this.#isUsed = false
    this.#open = null
  }

  #statement(op: 'query' | 'rows' | 'row' | 'execute', sql: string, parameters: SqlParameters | undefined): unknown {
    this.#assertThere()
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
      this.#isBare ||= hasEnded
      if (!isLate) throw error
      const message = `a statement exceeded the remaining time of ${this.time.limit()}, and was stopped`
      throw runErrors.create('RUN_TIME_LIMIT', message)
    }
  }

  /** Statements after the end of a transaction would be committed separately. */
  #assertThere(): void {
    if (!this.#isLost) return
    throw databaseErrors.create(
      'DBS_TRANSACTION_ENDED',
      `${this.#location}: an earlier failure rolled back the transaction`
    )
  }
}
