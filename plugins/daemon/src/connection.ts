import type { Readable, Writable } from 'node:stream'
import type { Dialect, Request } from './frames.ts'
import { type LineState, newLineState } from './lines.ts'

/** A request that was read and not yet begun. */
export interface Waiting {
  readonly request: Request
  readonly reply: Reply
  /** Share of its line, for the bound on what waits. */
  readonly bytes: number
}

/** Takes the one answer of a request as JSON; undefined where none is due. */
export type Reply = (answer: string | undefined) => void

/**
 * One peer. Holds data only: a connection outlives the unit that reads it, and the next unit goes on where the former
 * stopped. Calls that a former unit began end by writing here.
 */
export interface Connection {
  readonly input: Readable
  readonly output: Writable
  readonly lines: LineState
  /** Dialect of the last frame, or null before the first. */
  dialect: Dialect | null
  /** Whether its first byte that is not blank has been seen. */
  begun: boolean
  /** Digest of the token that the peer has shown, or null. */
  shown: string | null
  readonly waiting: Waiting[]
  waitingBytes: number
  /** When it last sent bytes or was answered, in milliseconds of the monotonic clock. */
  activeAt: number
  inFlight: number
  /** Whether a request of the original dialect runs: those are answered one after the other. */
  nativeRunning: boolean
  /** Calls under way by the key of their id. */
  readonly calls: Map<string, Set<AbortController>>
  /** Newest progress of calls whose lines have to wait for the peer to read. */
  readonly heldProgress: Map<Request, string>
  /** The peer takes no more for now. */
  blocked: boolean
  /** The peer will send no more. */
  ended: boolean
  closed: boolean
  /** Begins what can begin; belongs to the unit that serves. */
  pump: () => void
}

export function newConnection(input: Readable, output: Writable): Connection {
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

/** Writes one line. Nothing is written to a peer that is gone. */
export function writeLine(connection: Connection, json: string): void {
  if (connection.closed || connection.output.writableEnded) return
  if (!connection.output.write(`${json}\n`)) connection.blocked = true
}

/** Breaks off every call of a peer that is gone. */
export function abortCalls(connection: Connection): void {
  for (const controllers of connection.calls.values()) for (const controller of controllers) controller.abort()
}
