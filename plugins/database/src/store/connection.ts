import type { SqlResult } from '@svc/contracts'
import type { BoundStatement, Facts, Outcome } from '../worker/protocol.ts'

/**
 * One connection to a database. Whoever uses it takes turns: between `begin` and `commit` or `rollback` come only `run`s.
 * Failures are errors with codes of the contract, save for those inside of an {@link Outcome}.
 */
export interface Connection {
  open(): Promise<Facts>
  query(statement: BoundStatement): Promise<SqlResult>
  /** Writes, each for itself and durable when this resolves. */
  group(statements: readonly BoundStatement[]): Promise<readonly Outcome[]>
  /** Writes, all or none. */
  batch(statements: readonly BoundStatement[]): Promise<readonly SqlResult[]>
  /** A statement that cannot be in a transaction. */
  alone(statement: BoundStatement): Promise<SqlResult>
  begin(): Promise<void>
  run(statement: BoundStatement): Promise<SqlResult>
  commit(): Promise<void>
  rollback(): Promise<void>
  backup(file: string): Promise<void>
  sync(): Promise<void>
  /** Rejects with `DBS_FILE_LOST` where the file is no longer the one that was opened. */
  verify?(): Promise<void>
  close(): Promise<void>
}
