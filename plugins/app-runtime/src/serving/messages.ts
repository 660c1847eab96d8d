import type { Program, WorkflowStep } from '@svc/contracts'
import type { DatabaseAccess } from '../database/access.ts'
import type { Capability } from '../interpreter/host.ts'
import type { Limits } from '../interpreter/machine.ts'
import type { BridgeEnd } from '../threads/bridge.ts'
import type { DurableOptions } from '../workflows/database-durable.ts'

/** Calls that a thread may have at a time, begun or not. */
export const SLOTS = 256

/**
 * How far a call has come. The thread takes what is `POSTED` and the main thread may take it back, each by exchanging the
 * state: so a call that waits behind a long one goes elsewhere, and runs once.
 */
export const STATE = {
  FREE: 0,
  POSTED: 1,
  TAKEN_BACK: 2,
  RUNNING: 3,
  /** Done and waiting for a group commit: nothing of it is committed. */
  HELD: 4,
  /** The end of the call's transaction is being written. */
  COMMITTING: 5,
  COMMITTED: 6,
  /** Done; the answer is on its way. */
  DONE: 7
} as const

/** Memory shared by the thread and the main thread: ints, first the state of each slot. */
export const PROGRESS = {
  /** Counts calls that began or ended. */
  TURNS: SLOTS,
  /** Lines of output that were sent and not taken yet. */
  UNWRITTEN: SLOTS + 1,
  /** First of one int for each slot: 1 once the call acted outside of the database, by a request for example. */
  EFFECTS: SLOTS + 2,
  SIZE: 2 * SLOTS + 2
} as const

/** Program that a thread runs from now on. */
export interface Load {
  readonly kind: 'load'
  readonly program: Program
  readonly limits: Limits
  readonly capabilities: readonly Capability[]
  /** null for a program that uses none. */
  readonly database: DatabaseAccess | null
  /** null for a program without workflows and actors. */
  readonly durable: DurableOptions | null
  readonly bridge: BridgeEnd
  readonly progress: SharedArrayBuffer
  /** Microseconds that a call of each endpoint takes, as the thread has measured it: ints. */
  readonly costs: SharedArrayBuffer
}

/**
 * Warm-up of an idle thread: it loads a program like the one that it will run. Its code is compiled by
 * then, and the binding of the database is there.
 */
export interface Rehearsal extends Pick<Load, 'program' | 'limits' | 'database'> {
  readonly kind: 'rehearsal'
}

/**
 * Calls, flat, since there are many: the slot, the place of the endpoint in the list, and the arguments as text. What that
 * holds is said at {@link EndpointInput}.
 */
export type Calls = readonly (number | string)[]

/** Answers, flat: the slot, the status as HTTP has it, and the body, which is JSON. */
export type Answers = (number | string)[]

export type ToThread = Load | Rehearsal | Calls

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type FromThread =
  | Answers
  | { readonly kind: 'loaded' }
  | { readonly kind: 'refused'; readonly error: SentFailure }
  /** A run or a message is due. */
  | { readonly kind: 'due' }
  /** A step of a run completed. */
  | { readonly kind: 'step'; readonly step: WorkflowStep }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly text: string; readonly slot: number }
  | { readonly kind: 'failed'; readonly endpoint: string; readonly failure: SentFailure; readonly slot: number }

/** For the log: with places of the source, which callers do not see. */
export interface SentFailure {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly calls: readonly string[]
}

/** Call of a route, as JSON; other endpoints get their query, or their body, as it came. */
export interface RouteInput {
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
