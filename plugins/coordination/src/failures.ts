import { coordinationErrors } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'

/** Codes of a database that cannot be used now. Of a write it is unknown whether it took effect. */
const UNAVAILABLE = new Set([
  'DBS_BUSY',
  'DBS_FILE_LOST',
  'DBS_LOST',
  'DBS_OPEN_FAILED',
  'DBS_TRANSACTION_ENDED',
  'DBS_UNAUTHORIZED',
  'DBS_UNREACHABLE'
])
/** Codes of failures that one call of a batch may have caused, and after which nothing is committed. */
const CAUSED_BY_CALL = new Set(['DBS_CONSTRAINT', 'DBS_FAILED', 'DBS_FULL', 'DBS_VALUE_INVALID'])

/** Returns the error of a coordination store for a failure of its database. */
export function coordinationFailure(error: unknown, location: string): unknown {
  if (isSvcError(error) && error.code.startsWith('CRD_')) return error
  const code = isSvcError(error) ? error.code : ''
  const message = `coordination store in ${location}: ${errorMessage(error)}`
  if (code === 'DBS_CLOSED') return coordinationErrors.create('CRD_CLOSED', message, { cause: error })
  if (UNAVAILABLE.has(code))
    return coordinationErrors.create('CRD_UNAVAILABLE', message, {
      cause: error,
      hint: 'repeat the call: put with the same key, other calls with the same token'
    })
  if (code === 'DBS_NESTED')
    return coordinationErrors.create('CRD_FAILED', `${message}; a coordination store commits its changes itself`, {
      cause: error,
      hint: 'call it before or after the transaction'
    })
  const hint = isSvcError(error) ? error.hint : undefined
  return coordinationErrors.create('CRD_FAILED', message, { cause: error, ...(hint === undefined ? {} : { hint }) })
}

/** Returns whether the calls of a failed batch may be run again, one by one. */
export function hadNoEffect(error: unknown): boolean {
  return isSvcError(error) && CAUSED_BY_CALL.has(error.code)
}

/** Returns whether a table of the store is missing: its database was replaced. */
export function lacksTables(error: unknown): boolean {
  return isSvcError(error, 'DBS_SYNTAX') && /no such table: (?:main\.)?(?:coord_|distributed_locks)/.test(error.message)
}
