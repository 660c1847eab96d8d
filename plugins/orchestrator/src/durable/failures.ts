import { orchestrationErrors } from '@svc/contracts'
import { errorMessage, isSvcError, type SvcError } from '@svc/plugin-sdk'

/** Codes of errors caused by a statement, not by the database. */
const STATEMENT_ERRORS = new Set(['DBS_CONSTRAINT', 'DBS_SYNTAX', 'DBS_VALUE_INVALID'])

/** Returns the index of the statement that made a batch fail; null if there is none. */
export function statementToBlame(error: unknown): number | null {
  if (!isSvcError(error) || !STATEMENT_ERRORS.has(error.code)) return null
  return ((error.data ?? {}) as { readonly statement?: number }).statement ?? null
}

/** Returns code and message, as `status` shows them. */
export function describeFailure(error: unknown): string {
  if (isSvcError(error)) return `${error.code}: ${error.message}`
  return errorMessage(error)
}

/** Returns the failure as the end of a sentence; an empty string if there is none. */
export function because(failure: unknown): string {
  return failure === null ? '' : `: ${describeFailure(failure)}`
}

/** Returns the error for a change that was not written. `failure`: the database's last error, or null. */
export function notDurable(location: string, why: string, failure: unknown): SvcError {
  return orchestrationErrors.create(
    'ORC_NOT_DURABLE',
    `Database error: a change was not made durable in ${location}: ${why}${because(failure)}`,
    {
      hint: hintOf(failure),
      cause: failure ?? undefined
    }
  )
}

function hintOf(failure: unknown): string {
  if (isSvcError(failure, 'DBS_FULL')) return 'free space on the disk of the database; the change waits and is retried'
  if (isSvcError(failure, 'DBS_FILE_LOST')) return 'restore the file, or restart to use the current one'
  return 'the change waits and is retried; svc db status shows what is wrong'
}

/** Returns the error for a command while the attached database cannot be opened. */
export function databaseUnusable(location: string, failure: unknown): SvcError {
  const hint = isSvcError(failure) ? failure.hint : undefined
  return orchestrationErrors.create(
    'ORC_NOT_DURABLE',
    `Database error: nothing is accepted, because it could not be made durable in ${location}${because(failure)}`,
    { hint: hint ?? 'svc db status shows what is wrong; the database is tried again every 2 seconds', cause: failure }
  )
}

export function seatLost(seat: number, location: string, why: string): SvcError {
  return orchestrationErrors.create(
    'ORC_NOT_DURABLE',
    `Database error: seat ${seat} of this process in ${location} ${why}; the process stops writing`,
    { hint: 'restart the process: it acquires a seat again, and restores the state' }
  )
}
