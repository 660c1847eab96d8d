import type { Readable, Writable } from 'node:stream'
import type { Dialect, Request } from './frames.ts'
import { type LineState, newLineState } from './lines.ts'

/** Parsed request that has not started. */
export interface QueuedRequest {
  readonly request: Request
  readonly reply: Reply
  /** Share of the line's bytes; counts towards the limit on waiting requests. */
  readonly bytes: number
}

/** Receives the response to a request as JSON; undefined for a notification. */
export type Reply = (response: string | undefined) => void

/**
 * Connection of a client. Contains only data: it outlives the unit, and the next unit continues it. Calls of an old
 * unit write their responses to it.
 */
export interface DaemonConnection {
  readonly input: Readable
  readonly output: Writable
  readonly lines: LineState
  /** Dialect of the last frame, or null before the first. */
  dialect: Dialect | null
  /** True after a first byte that can start a request; white space before it is skipped. */
  begun: boolean
  /** Digest of the client's token; null if it has not authenticated. */
  tokenDigest: string | null
  readonly waiting: QueuedRequest[]
  waitingBytes: number
  /** Time of the last input or response, in milliseconds of `performance.now()`. */
  activeAt: number
  inFlight: number
  /** Number of running calls whose operation declares events. */
  streams: number
  /** True while a request of the original dialect runs. Such requests run one at a time, so responses are in order. */
  nativeRunning: boolean
  /** Running calls by the key of their id. */
  readonly calls: Map<string, Set<AbortController>>
  /** Newest progress of each call, sent when the client reads again. */
  readonly heldProgress: Map<Request, string>
  /** True while the output buffer is full. */
  blocked: boolean
  /** True after the end of the input. */
  ended: boolean
  closed: boolean
  /** Starts waiting requests. Set by the serving unit. */
  pump: () => void
}

export function newConnection(input: Readable, output: Writable): DaemonConnection {
  return {
    input,
    output,
    lines: newLineState(),
    dialect: null,
    begun: false,
    tokenDigest: null,
    waiting: [],
    waitingBytes: 0,
    activeAt: performance.now(),
    inFlight: 0,
    streams: 0,
    nativeRunning: false,
    calls: new Map(),
    heldProgress: new Map(),
    blocked: false,
    ended: false,
    closed: false,
    pump: () => undefined
  }
}

/** Writes a line. Does nothing if the client is disconnected. */
export function writeLine(connection: DaemonConnection, json: string): void {
  if (connection.closed || connection.output.writableEnded) return
  if (!connection.output.write(`${json}\n`)) connection.blocked = true
}

/** Aborts all running calls of a connection. */
export function abortCalls(connection: DaemonConnection): void {
  for (const controllers of connection.calls.values()) for (const controller of controllers) controller.abort()
}
