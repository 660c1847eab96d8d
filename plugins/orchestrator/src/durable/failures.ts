import { orchestrationErrors } from '@svc/contracts'
import { errorMessage, isSvcError, type SvcError } from '@svc/plugin-sdk'

/** Failures of the statement itself, in contrast to those of the database. */
const OF_A_STATEMENT = new Set(['DBS_CONSTRAINT', 'DBS_SYNTAX', 'DBS_VALUE_INVALID'])

/** Index of the statement that made a batch fail; null for none. */
export function statementToBlame(error: unknown): number | null {
  if (!isSvcError(error) || !OF_A_STATEMENT.has(error.code)) return null
  return ((error.data ?? {}) as { readonly statement?: number }).statement ?? null
}

/** Code and message: what `status` shows. */
export function describeFailure(error: unknown): string {
  if (isSvcError(error)) return `${error.code}: ${error.message}`
  return errorMessage(error)
}

/** The end of a sentence; empty if there was no failure. */
export function because(failure: unknown): string {
  return failure === null ? '' : `: ${describeFailure(failure)}`
}

/** `failure`: the last one; null if there was none. */
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
  if (isSvcError(failure, 'DBS_FULL')) return 'free room on the disk of the database; the change is kept and retried'
  if (isSvcError(failure, 'DBS_FILE_LOST')) return 'restore the file, or restart to use the present file'
  return 'the change is kept and retried; svc db status says what is wrong'
}

export function seatLost(seat: number, location: string, why: string): SvcError {
  return orchestrationErrors.create(
    'ORC_NOT_DURABLE',
    `Database error: seat ${seat} of this process in ${location} ${why}; nothing more is written under it`,
    { hint: 'restart the process: it takes a new seat, with the remains of this one' }
  )
}
