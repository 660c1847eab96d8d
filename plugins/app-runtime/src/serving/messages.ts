import type { Program, WorkflowStep } from '@svc/contracts'
import type { DatabaseAccess } from '../database/access.ts'
import type { Capability } from '../interpreter/host.ts'
import type { Limits } from '../interpreter/machine.ts'
import type { BridgeEnd } from '../threads/bridge.ts'
import type { DurableOptions } from '../workflows/database-durable.ts'

/** Maximum calls assigned to a thread. */
export const SLOTS = 256

/**
 * State of a call. The thread claims a `POSTED` call, and the main thread may withdraw it, both by an atomic exchange.
 * So a call that waits after a long one can move, and runs only once.
 */
export const STATE = {
  FREE: 0,
  POSTED: 1,
  TAKEN_BACK: 2,
  RUNNING: 3,
  /** Finished, waiting for a group commit; nothing is committed. */
  HELD: 4,
  /** The call's transaction is being committed. */
  COMMITTING: 5,
  COMMITTED: 6,
  /** Finished; the answer is being sent. */
  DONE: 7
} as const

/** Memory shared by the thread and the main thread: ints, first the state of each slot. */
export const PROGRESS = {
  /** Counts started and finished calls. */
  TURNS: SLOTS,
  /** Output lines that were sent and not read yet. */
  UNWRITTEN: SLOTS + 1,
  /** First of one int per slot: 1 after the call had an effect outside the database, such as a request. */
  EFFECTS: SLOTS + 2,
  SIZE: 2 * SLOTS + 2
} as const

/** The program that a thread runs from now on. */
export interface Load {
  readonly kind: 'load'
  readonly program: Program
  readonly limits: Limits
  readonly capabilities: readonly Capability[]
  /** null for a program without a database. */
  readonly database: DatabaseAccess | null
  /** null for a program without workflows and actors. */
  readonly durable: DurableOptions | null
  readonly bridge: BridgeEnd
  readonly progress: SharedArrayBuffer
  /** Microseconds per call of each endpoint, measured by the thread: ints. */
  readonly costs: SharedArrayBuffer
}

/**
 * Warm-up of an idle thread: it loads a program similar to the next one. Its code is compiled then, and the
 * database binding is loaded.
 */
export interface Rehearsal extends Pick<Load, 'program' | 'limits' | 'database'> {
  readonly kind: 'rehearsal'
}

/**
 * Calls as a flat list, since there are many: the slot, the endpoint's index, and the arguments as text. See
 * {@link EndpointInput} for the text.
 */
export type Calls = readonly (number | string)[]

/** Answers as a flat list: the slot, the HTTP status, and the JSON body. */
export type Answers = (number | string)[]

export type ToThread = Load | Rehearsal | Calls

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type FromThread =
  | Answers
  | { readonly kind: 'loaded' }
  | { readonly kind: 'refused'; readonly error: SentFailure }
  /** A run or a message became due. */
  | { readonly kind: 'due' }
  /** A step of a run completed. */
  | { readonly kind: 'step'; readonly step: WorkflowStep }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly text: string; readonly slot: number }
  | { readonly kind: 'failed'; readonly endpoint: string; readonly failure: SentFailure; readonly slot: number }

/** For the log: with source positions, which callers do not see. */
export interface SentFailure {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly calls: readonly string[]
}

/** Call of a route, as JSON; other endpoints get the raw query or body. */
export interface RouteInput {
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
