import type { Program, WorkflowStep } from '@svc/contracts'
import type { DatabaseAccess } from '../database/access.ts'
import type { LoggedStatement } from '../database/sql-log.ts'
import type { Capability, LogLine } from '../interpreter/host.ts'
import type { Limits } from '../interpreter/machine.ts'
import type { ResponseContent, ResponseParts } from '../interpreter/response.ts'
import type { BridgeEnd } from '../threads/bridge.ts'
import type { DurableOptions } from '../workflows/database-durable.ts'

/** Maximum calls assigned to a thread. */
export const SLOTS = 256

/**
 * State of a call. The thread claims a `POSTED` call, or the main thread withdraws it, each by an atomic exchange.
 * So a call that waits behind a long one can move to another thread, and still runs only once.
 */
export const STATE = {
  FREE: 0,
  POSTED: 1,
  TAKEN_BACK: 2,
  RUNNING: 3,
  /** Finished and waiting for a group commit; nothing is committed yet. */
  HELD: 4,
  /** The call's transaction is being committed. */
  COMMITTING: 5,
  COMMITTED: 6,
  /** Finished, and committed if it has a transaction; the response is being sent. */
  DONE: 7,
  /** Finished, and its transaction was rolled back; the response is being sent. */
  ROLLED_BACK: 8,
  /** Finished, but its commit failed; the changes may be stored. The response is being sent. */
  UNCERTAIN: 9
} as const

/** Layout of the ints shared by thread and main thread. The states of the slots come first. */
export const PROGRESS = {
  /** Number of started and finished calls. A thread that makes progress increases it. */
  TURNS: SLOTS,
  /** Load of the lines that were sent and not read yet, of an `OutputGate`. */
  UNWRITTEN: SLOTS + 1,
  /** Start of one int per slot: the effects of the call that no rollback undoes, as bits of {@link EFFECT}. */
  EFFECTS: SLOTS + 2,
  /** Start of one int per slot: the number of SQL statements of the call. */
  STATEMENTS: 2 * SLOTS + 2,
  /** Start of one int per slot: whether the end of the call is reported, of {@link REPORT}. */
  REPORTED: 3 * SLOTS + 2,
  SIZE: 4 * SLOTS + 2
} as const

/** Whether the end of a call is reported with its statements. Those of failed and slow calls always are. */
export const REPORT = {
  NO: 0,
  /** The request of the call is recorded. */
  RECORDED: 1,
  /** Only shown to the developer, by `svc dev`. */
  SHOWN: 2
} as const

/** Effects of a call, as bits. */
export const EFFECT = {
  /** Effect outside the database: an HTTP request, a process, a file. */
  OUTSIDE: 1,
  /** Change of the database that was committed, or is about to be, before the call ends. */
  STORED: 2
} as const

/** Request to load a program, which replaces the previous one. */
export interface Load {
  readonly kind: 'load'
  readonly program: Program
  readonly limits: Limits
  readonly capabilities: readonly Capability[]
  /** null for a program without a database. */
  readonly database: DatabaseAccess | null
  /** null for a program without workflows and actors. */
  readonly durable: DurableOptions | null
  /** Whether steps of workflows can run on a mesh. */
  readonly hasMesh: boolean
  readonly bridge: BridgeEnd
  readonly progress: SharedArrayBuffer
  /** Average microseconds per call of each endpoint, as ints; written by the thread. */
  readonly costs: SharedArrayBuffer
}

/**
 * Warm-up of an idle thread with a program similar to the next one: compiles the code of the runtime, and loads
 * the database binding.
 */
export interface Rehearsal extends Pick<Load, 'program' | 'limits' | 'database'> {
  readonly kind: 'rehearsal'
}

/**
 * Calls as a flat list, which is cheap to send: for each the slot, the endpoint's index, and the input and the caller as
 * text.
 */
export type Calls = readonly (number | string)[]

/** Responses as a flat list: for each the slot, the HTTP status, and the JSON body or a `Response` of the program. */
export type Answers = (number | string | SentResponse)[]

/** A `Response` of the program without its status. */
export interface SentResponse extends Pick<ResponseParts, 'headers' | 'cookies'> {
  readonly content: ResponseContent
}

export type ToThread = Load | Rehearsal | Calls

export type FromThread =
  | Answers
  | { readonly kind: 'loaded' }
  | { readonly kind: 'refused'; readonly error: SentFailure }
  /** A workflow run or a message became due. */
  | { readonly kind: 'due' }
  /** A step of a workflow run was committed. */
  | { readonly kind: 'step'; readonly step: WorkflowStep }
  /** Another change of a workflow run was committed. */
  | { readonly kind: 'run' }
  /** A step for the mesh was stored. */
  | { readonly kind: 'mesh' }
  /** The end of a failed, slow, recorded or shown call; sent before its answer. */
  | ({ readonly kind: 'ended'; readonly slot: number } & EndedCall)
  | ({ readonly kind: 'log'; readonly slot: number } & LogLine)
  | { readonly kind: 'failed'; readonly endpoint: string; readonly failure: SentFailure; readonly slot: number }

/** Times and statements of a call. */
export interface EndedCall {
  /** Function or route. */
  readonly name: string
  /** When the thread began the call, in Unix milliseconds. */
  readonly start: number
  readonly ms: number
  /** Code of the failure; null after a success, and for an intended refusal. */
  readonly error: string | null
  readonly status: number
  readonly statements: readonly LoggedStatement[]
  /** True if the call is only {@link REPORT.SHOWN}. */
  readonly isOnlyShown: boolean
  /** Number of all statements; only the first ones are sent. */
  readonly statementCount: number
}

/** Failure for the log, with source positions, which callers do not see. */
export interface SentFailure {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly calls: readonly string[]
}

/** Input of a route, sent as JSON. The input of other endpoints is the query string or the body. */
export interface RouteInput {
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  readonly body: string
}
