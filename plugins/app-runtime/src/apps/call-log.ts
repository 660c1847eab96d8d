import { randomUUID } from 'node:crypto'
import type { Delta } from '@svc/plugin-sdk'

/** Topic that is announced after each call of a served program. */
export const CALLS_TOPIC = 'app-runtime.calls'

/** A finished HTTP call of a function or route. Plain data, so that it keeps no code of a replaced plugin in memory. */
export interface AppCall {
  /** Position in the log, ascending; the key of the row. */
  readonly id: string
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

/** Contents of a log, which outlive a reload of the plugin. */
export interface CallLogState {
  /** Distinguishes this log's cursors from those of an earlier process. */
  readonly id: string
  readonly calls: (AppCall | undefined)[]
  /** Number of all calls so far. */
  count: number
}

const CAPACITY = 500

/**
 * The newest calls, as a ring. Each has a number, which is its key and the cursor of a reader. Recording a call takes
 * constant time, since every request of a program is recorded.
 */
export class CallLog {
  readonly #state: CallLogState

  constructor(state: CallLogState = callLogState()) {
    this.#state = state
  }

  record(call: Omit<AppCall, 'id'>): void {
    const state = this.#state
    state.calls[state.count % state.calls.length] = { id: String(state.count), ...call }
    state.count++
  }

  /** Returns the calls since a cursor, oldest first, and the keys that have left the ring. */
  read(since?: string, limit = 1000): Delta<AppCall> {
    const { id, calls, count } = this.#state
    const { length } = calls
    const oldest = Math.max(0, count - length)
    const from = this.#parse(since)
    const begin = Math.max(from ?? 0, oldest)
    const end = Math.min(count, begin + limit)
    const upsert: AppCall[] = []
    for (let at = begin; at < end; at++) upsert.push(calls[at % length] as AppCall)
    // A reader at `from` has the calls from `from - length` on. Of these, the ones before `oldest` are gone.
    const gone = from === null ? [] : numbers(Math.max(0, from - length), Math.min(from, oldest))
    return { cursor: `${id}.${end}`, reset: from === null, upsert, remove: gone, more: end < count }
  }

  #parse(since: string | undefined): number | null {
    const [id, text = ''] = (since ?? '').split('.', 2)
    const number = Number(text)
    const isKnown = id === this.#state.id && Number.isSafeInteger(number) && number >= 0 && number <= this.#state.count
    return isKnown ? number : null
  }
}

export function callLogState(capacity = CAPACITY): CallLogState {
  return { id: randomUUID().slice(0, 8), calls: new Array<AppCall | undefined>(capacity).fill(undefined), count: 0 }
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => String(from + index))
}
