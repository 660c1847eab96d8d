import { isSvcError } from '@svc/plugin-sdk'
import type { RunErrorCode } from '../errors.ts'
import { RunError } from '../interpreter/failure.ts'

/** Program error codes by store code; all other `DBS_` codes become `RUN_DATABASE`. */
const CODES: Readonly<Record<string, RunErrorCode>> = {
  DBS_CONSTRAINT: 'RUN_CONSTRAINT',
  DBS_BUSY: 'RUN_DATABASE_BUSY',
  DBS_UNREACHABLE: 'RUN_DATABASE_BUSY',
  DBS_CLOSED: 'RUN_DATABASE_BUSY',
  DBS_OPEN_FAILED: 'RUN_DATABASE_BUSY',
  DBS_FILE_LOST: 'RUN_DATABASE_BUSY',
  DBS_LOST: 'RUN_DATABASE_BUSY',
  DBS_FULL: 'RUN_DATABASE_FULL',
  DBS_VALUE_INVALID: 'RUN_TYPE',
  RUN_MEMORY_LIMIT: 'RUN_MEMORY_LIMIT',
  RUN_TIME_LIMIT: 'RUN_TIME_LIMIT'
}

/** Failures that a program can receive as the Error of a Result. */
const RESULT_CODES: ReadonlySet<RunErrorCode> = new Set([
  'RUN_CONSTRAINT',
  'RUN_DATABASE',
  'RUN_DATABASE_BUSY',
  'RUN_DATABASE_FULL'
])

export function isDatabaseFailure(thrown: unknown): thrown is RunError {
  return thrown instanceof RunError && RESULT_CODES.has(thrown.code)
}

/** Translates an error of the store to a program error without the location. Returns other errors unchanged. */
export function databaseFailure(error: unknown, table: string, location: string): unknown {
  if (!isSvcError(error) || !(error.code in CODES || error.code.startsWith('DBS_'))) return error
  const { code, message, data } = error
  const text = message.startsWith(`${location}: `) ? message.slice(location.length + 2) : message
  const shown = code === 'DBS_CONSTRAINT' ? (constraintText(data) ?? text) : text
  return new RunError(CODES[code] ?? 'RUN_DATABASE', `${table}: ${shown}`)
}

/** Describes a violated constraint by its columns; null if SQLite does not name them. */
function constraintText(data: unknown): string | null {
  const { constraint, columns = [] } = (data ?? {}) as { constraint?: string; columns?: readonly string[] }
  if (columns.length === 0) return null
  const names = columns.map(column => column.slice(column.indexOf('.') + 1)).join(' and ')
  if (constraint === 'unique' || constraint === 'primary key') return `another row has the same ${names}`
  return constraint === 'not null' ? `${names} must have a value` : null
}
