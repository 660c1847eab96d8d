import type { SqlResult } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { BoundStatement, EngineInfo, SqlFailure } from './protocol.ts'

/** Permissions of new database files and backups: only the user can read them. */
export const PRIVATE_MODE = 0o600

/** Connection of one thread, used without overlapping calls. */
export interface Engine {
  /** Runs a statement. Like all methods, throws {@link EngineFailure}. */
  run(statement: BoundStatement): SqlResult
  /** Runs any number of statements without parameters. */
  exec(sql: string): void
  readonly inTransaction: boolean
  info(): EngineInfo
  backup(file: string): void
  /** Updates a replica. */
  sync(): void
  close(): void
}

export class EngineFailure extends Error implements SqlFailure {
  override readonly name = 'EngineFailure'
  readonly code: string
  readonly compiling: boolean
  readonly offset: number | null

  constructor(message: string, code: string, compiling = false, offset: number | null = null) {
    super(message)
    this.code = code
    this.compiling = compiling
    this.offset = offset
  }
}

export function failureOf(error: unknown): SqlFailure {
  if (error instanceof EngineFailure) {
    const { message, code, compiling, offset } = error
    return { message, code, compiling, offset }
  }
  return {
    message: errorMessage(error),
    code: 'SQLITE_ERROR',
    compiling: false,
    offset: null
  }
}

/** Verbs of statements that report the number of changed rows. */
export const CHANGING: ReadonlySet<string> = new Set(['INSERT', 'REPLACE', 'UPDATE', 'DELETE'])
export const INSERTING: ReadonlySet<string> = new Set(['INSERT', 'REPLACE'])

/** Returns whether a call failed because another connection held the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof EngineFailure && /^SQLITE_(?:BUSY|LOCKED)/.test(error.code)
}
