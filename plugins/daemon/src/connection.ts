import type { Readable, Writable } from 'node:stream'
import type { Dialect, Request } from './frames.ts'
import { type LineState, newLineState } from './lines.ts'

/** A parsed request that has not started. */
export interface QueuedRequest {
  readonly request: Request
  readonly reply: Reply
  /** Its share of the line, for the limit on waiting bytes. */
  readonly bytes: number
}

/** Receives the answer of a request as JSON; undefined for a notification. */
export type Reply = (answer: string | undefined) => void

/**
 * One peer. Data only: a connection outlives its unit, and the next unit continues it. Calls of an old unit write their
 * answers here.
 */
export interface DaemonConnection {
  readonly input: Readable
  readonly output: Writable
  readonly lines: LineState
  /** Dialect of the last frame, or null before the first. */
  dialect: Dialect | null
  /** True once its first non-blank byte was seen. */
  begun: boolean
  /** Digest of the peer's token, or null. */
  shown: string | null
  readonly waiting: QueuedRequest[]
  waitingBytes: number
  /** Time of its last input or answer, in monotonic milliseconds. */
  activeAt: number
  inFlight: number
  /** True if a request of the original dialect runs: those are answered in order. */
  nativeRunning: boolean
  /** Running calls by the key of their id. */
  readonly calls: Map<string, Set<AbortController>>
  /** Newest progress of calls that wait for the peer to read. */
  readonly heldProgress: Map<Request, string>
  /** True while the peer's buffer is full. */
  blocked: boolean
  /** True after the peer's end of input. */
  ended: boolean
  closed: boolean
  /** Starts waiting requests; belongs to the serving unit. */
  pump: () => void
}

export function newConnection(input: Readable, output: Writable): DaemonConnection {
  return {
    input,
    output,
    lines: newLineState(),
    dialect: null,
    begun: false,
    shown: null,
    waiting: [],
    waitingBytes: 0,
    activeAt: performance.now(),
    inFlight: 0,
    nativeRunning: false,
    calls: new Map(),
    heldProgress: new Map(),
    blocked: false,
    ended: false,
    closed: false,
    pump: () => undefined
  }
}

/** Writes one line. Writes nothing to a disconnected peer. */
export function writeLine(connection: DaemonConnection, json: string): void {
  if (connection.closed || connection.output.writableEnded) return
  if (!connection.output.write(`${json}\n`)) connection.blocked = true
}

/** Aborts every call of a disconnected peer. */
export function abortCalls(connection: DaemonConnection): void {
  for (const controllers of connection.calls.values()) for (const controller of controllers) controller.abort()
}
