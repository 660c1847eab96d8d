import {
  databaseErrors,
  type SqlParameters,
  type SqlResult,
  type SqlStatement,
  type SqlValue,
  type ThreadConnection
} from '@svc/contracts'
import type { Bridge } from '../threads/bridge.ts'

/** Requests to the main thread's store; `storeAnswers` handles them. */
export type StoreQuestion =
  | { readonly op: 'query' | 'execute'; readonly statement: Exclude<SqlStatement, string> }
  | { readonly op: 'begin' | 'commit' | 'rollback' | 'sync' }

/** Kind of the request on the bridge. */
export const STORE_QUESTION = 'database'

/** A connection that sends each call to the main thread, for a database that only the main thread has open. */
export class BridgeConnection implements ThreadConnection {
  readonly #bridge: Bridge
  readonly #location: string
  #open: 'read' | 'write' | null = null
  #isClosed = false

  constructor(bridge: Bridge, location: string) {
    this.#bridge = bridge
    this.#location = location
  }

  get inTransaction(): boolean {
    return this.#open !== null
  }

  query(sql: string, parameters?: SqlParameters): SqlResult {
    return this.#ask({ op: 'query', statement: statementOf(sql, parameters) }) as SqlResult
  }

  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[] {
    return this.query(sql, parameters).rows
  }

  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null {
    return this.rows(sql, parameters)[0] ?? null
  }

  execute(sql: string, parameters?: SqlParameters): SqlResult {
    if (this.#open === 'read') {
      throw databaseErrors.create('DBS_READ_ONLY', `${this.#location}: the open transaction is read-only`, {
        data: { sql }
      })
    }
    return this.#ask({ op: 'execute', statement: statementOf(sql, parameters) }) as SqlResult
  }

  begin(kind: 'read' | 'write'): void {
    if (this.#open !== null) {
      throw databaseErrors.create('DBS_NESTED', `${this.#location}: this thread already has an open transaction`)
    }
    this.#ask({ op: 'begin' })
    this.#open = kind
  }

  commit(): void {
    if (this.#open === null) {
      throw databaseErrors.create('DBS_TRANSACTION_ENDED', `${this.#location}: no transaction is open`)
    }
    this.#open = null
    this.#ask({ op: 'commit' })
  }

  rollback(): void {
    if (this.#open === null) return
    this.#open = null
    this.#ask({ op: 'rollback' })
  }

  sync(): void {
    if (this.#open !== null) {
      throw databaseErrors.create('DBS_NESTED', `${this.#location}: this thread has an open transaction`)
    }
    this.#ask({ op: 'sync' })
  }

  close(): void {
    if (this.#isClosed) return
    this.rollback()
    this.#isClosed = true
  }

  #ask(question: StoreQuestion): unknown {
    if (this.#isClosed) throw databaseErrors.create('DBS_CLOSED', `${this.#location} is closed`)
    return this.#bridge.ask(STORE_QUESTION, question)
  }
}

function statementOf(sql: string, parameters: SqlParameters | undefined): Exclude<SqlStatement, string> {
  return parameters === undefined ? { sql } : { sql, parameters }
}
