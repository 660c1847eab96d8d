import type { SqlResult } from '@svc/contracts'
import type { BoundStatement, EngineInfo, SqlOutcome } from '../worker/protocol.ts'

/**
 * Connection to a database, for one caller at a time: between `begin` and `commit` or `rollback` only `run` is called.
 * Methods reject with the codes of the contract; only {@link SqlOutcome} contains raw failures.
 */
export interface DatabaseConnection {
  open(): Promise<EngineInfo>
  query(statement: BoundStatement): Promise<SqlResult>
  /** Runs writes in one commit; each fails or succeeds separately. */
  group(statements: readonly BoundStatement[]): Promise<readonly SqlOutcome[]>
  /** Runs statements in one transaction: all or none. */
  batch(statements: readonly BoundStatement[]): Promise<readonly SqlResult[]>
  /** Runs a statement outside a transaction. */
  standalone(statement: BoundStatement): Promise<SqlResult>
  begin(): Promise<void>
  run(statement: BoundStatement): Promise<SqlResult>
  commit(): Promise<void>
  rollback(): Promise<void>
  backup(file: string): Promise<void>
  sync(): Promise<void>
  /** Rejects with `DBS_FILE_LOST` if the file is no longer the opened one. */
  verify?(): Promise<void>
  close(): Promise<void>
}
