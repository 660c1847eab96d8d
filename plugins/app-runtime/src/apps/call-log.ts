import { type RowLog, type RowLogState, rowLogState } from './row-log.ts'

/** Topic that is announced after each call of a served program. */
export const CALLS_TOPIC = 'app-runtime.calls'

/** A finished HTTP call of a function or route. */
export interface AppCall {
  readonly app: string
  /** When the response was sent, in Unix milliseconds. */
  readonly time: number
  readonly method: string
  /** Pattern of the route. */
  readonly path: string
  readonly name: string
  readonly status: number
  readonly ms: number
  /** Number of SQL statements; null if unknown. */
  readonly sql: number | null
  readonly request_id: string
}

export type CallLog = RowLog<AppCall>

const CAPACITY = 500

export function callLogState(): RowLogState<AppCall> {
  return rowLogState(CAPACITY)
}
