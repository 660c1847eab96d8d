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
  if (code !== 'DBS_CONSTRAINT') return new RunError(CODES[code] ?? 'RUN_DATABASE', `${table}: ${text}`)
  const violated = violatedConstraint(data, table)
  const failure = new RunError('RUN_CONSTRAINT', `${table}: ${constraintText(violated) ?? text}`)
  failure.details = violated
  return failure
}

/** Details of `RUN_CONSTRAINT` for callers. */
interface ViolatedConstraint {
  readonly table: string
  /** As SQLite names it: `unique`, `not null`, `primary key`, `foreign key` or `check`. */
  readonly constraint: string | null
  /** Empty if SQLite does not name them. */
  readonly columns: readonly string[]
}

function violatedConstraint(data: unknown, table: string): ViolatedConstraint {
  const { constraint = null, columns = [] } = (data ?? {}) as { constraint?: string; columns?: readonly string[] }
  // SQLite names only the index if it is over an expression, such as that of a decimal.
  const named = columns.filter(column => !column.startsWith('index '))
  return { table, constraint, columns: named.map(column => column.slice(column.indexOf('.') + 1)) }
}

/** Describes a violated constraint by its columns; null if that needs columns that SQLite does not name. */
function constraintText({ constraint, columns }: ViolatedConstraint): string | null {
  const names = columns.join(' and ')
  if (constraint === 'unique' || constraint === 'primary key')
    return names === '' ? 'another row has the same value in a unique index' : `another row has the same ${names}`
  return constraint === 'not null' && names !== '' ? `${names} must have a value` : null
}
