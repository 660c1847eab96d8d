import type { SqlResult } from '@svc/contracts'
import type { BoundValue } from '../sql/engine-values.ts'
import type { FileId } from './file-identity.ts'

/** A checked statement with positional parameter values. */
export interface BoundStatement {
  readonly sql: string
  readonly values: readonly BoundValue[]
  /** Its keyword in capitals: INSERT, SELECT, CREATE. */
  readonly verb: string
}

/** Failure of an engine, with SQLite's name for the code. */
export interface SqlFailure {
  readonly code: string
  readonly message: string
  /** True if the statement could not be compiled. */
  readonly compiling: boolean
  /** Index in the SQL where the parser stopped; null if unknown. */
  readonly offset: number | null
  /** Index of the statement in a batch. */
  readonly statement?: number
}

/** Outcome of one statement of a group; the statements fail or succeed separately. */
export type SqlOutcome =
  | { readonly ok: true; readonly result: SqlResult }
  | { readonly ok: false; readonly failure: SqlFailure }

/** Features of an engine, and the identity of its file. */
export interface EngineInfo {
  readonly fts: boolean
  readonly vector: boolean
  /** Identity of a local file. */
  readonly id?: FileId
}

/** Value of `file` for an empty in-memory database, which has one connection. */
export const MEMORY = ':memory:'

/** The database of a worker thread; fixed at its start. */
export interface WorkerPlace {
  readonly engine: 'libsql' | 'sqljs'
  /** Absolute path; empty for memory. */
  readonly file: string
  /** True for a read-only connection. */
  readonly readOnly: boolean
  /** Time limit for a lock of another connection. */
  readonly busyTimeoutMs: number
  readonly synchronous: 'normal' | 'full'
  /** Primary of a replica. */
  readonly replicaOf?: { readonly url: string; readonly token: string }
  /** Identity from an earlier opening; opening a different file fails. */
  readonly expected?: FileId
}

/** Operations with their inputs and results. */
export interface WorkerOperations {
  open: { given: null; answer: EngineInfo }
  query: { given: BoundStatement; answer: SqlResult }
  group: { given: readonly BoundStatement[]; answer: readonly SqlOutcome[] }
  batch: { given: readonly BoundStatement[]; answer: readonly SqlResult[] }
  standalone: { given: BoundStatement; answer: SqlResult }
  begin: { given: null; answer: null }
  run: { given: BoundStatement; answer: SqlResult }
  commit: { given: null; answer: null }
  rollback: { given: null; answer: null }
  backup: { given: string; answer: null }
  sync: { given: null; answer: null }
  verify: { given: null; answer: null }
  close: { given: null; answer: null }
}

export type OperationName = keyof WorkerOperations

export interface WorkerRequest<O extends OperationName = OperationName> {
  readonly id: number
  readonly op: O
  readonly given: WorkerOperations[O]['given']
}

export type WorkerReply =
  | { readonly id: number; readonly ok: true; readonly answer: unknown }
  | { readonly id: number; readonly ok: false; readonly failure: SqlFailure }
