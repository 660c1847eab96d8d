import type { SqlResult } from '@svc/contracts'
import type { BoundValue } from '../sql/engine-values.ts'
import type { FileId } from './file-identity.ts'

/** A statement that passed every check and whose parameters are values by position. */
export interface BoundStatement {
  readonly sql: string
  readonly values: readonly BoundValue[]
  /** Its keyword in capitals: INSERT, SELECT, CREATE. */
  readonly verb: string
}

/** Failure of an engine, with SQLite's name of the code. */
export interface Failure {
  readonly code: string
  readonly message: string
  /** Whether the statement could not even be compiled. */
  readonly compiling: boolean
  /** Index in the text where the parser stopped; null if unknown. */
  readonly offset: number | null
  /** Index of the statement in a batch. */
  readonly statement?: number
}

/** Each statement of a group stands for itself. */
export type Outcome =
  | { readonly ok: true; readonly result: SqlResult }
  | { readonly ok: false; readonly failure: Failure }

export interface Facts {
  readonly fts: boolean
  readonly vector: boolean
  /** Of a local file. */
  readonly id?: FileId
}

/** The database of a worker thread; fixed at its start. */
export interface WorkerPlace {
  readonly engine: 'libsql' | 'sqljs'
  /** Absolute path; empty for memory. */
  readonly file: string
  /** A connection that only reads. */
  readonly readOnly: boolean
  /** Limit of the wait for a lock of another connection. */
  readonly busyTimeoutMs: number
  readonly synchronous: 'normal' | 'full'
  /** The remote database that the file is a copy of. */
  readonly replicaOf?: { readonly url: string; readonly token: string }
  /** The file that an earlier thread had open; another one is refused. */
  readonly expected?: FileId
}

/** Operations with their inputs and answers. */
export interface WorkerOperations {
  open: { given: null; answer: Facts }
  query: { given: BoundStatement; answer: SqlResult }
  group: { given: readonly BoundStatement[]; answer: readonly Outcome[] }
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
  | { readonly id: number; readonly ok: false; readonly failure: Failure }
