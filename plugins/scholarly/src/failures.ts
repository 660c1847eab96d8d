import { type FailureClass, isRemoteFailure, type RemoteFailure } from '@svc/contracts'
import { errorMessage, isSvcError, type SvcError } from '@svc/plugin-sdk'
import { scholarlyErrors } from './errors.ts'
import { type JobFailure, retryDelay } from './jobs/job.ts'

const CODES: Readonly<Record<FailureClass, keyof typeof scholarlyErrors.specs>> = {
  disabled: 'SCH_DISABLED',
  config: 'SCH_CONFIG_INVALID',
  auth: 'SCH_AUTH_FAILED',
  rate_limit: 'SCH_RATE_LIMITED',
  transient: 'SCH_UNREACHABLE',
  fatal: 'SCH_REFUSED',
  preflight: 'SCH_PREFLIGHT_FAILED'
}

/** Returns the error that callers of operations receive for a failure of an archive; other errors unchanged. */
export function callerError(error: unknown): unknown {
  if (!isRemoteFailure(error)) return error
  const { failureClass, code, httpStatus, retryAfterMs } = error
  return errorOfClass(failureClass, error.message, {
    code,
    ...(httpStatus === undefined ? {} : { http_status: httpStatus }),
    ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs })
  })
}

export function errorOfClass(
  failureClass: FailureClass,
  message: string,
  data: Readonly<Record<string, unknown>> = {},
  hint?: string
): SvcError {
  return scholarlyErrors.create(CODES[failureClass], message, {
    data: { error_class: failureClass, ...data },
    ...(hint === undefined ? {} : { hint })
  })
}

/** Returns what becomes of a job after an error of its archive, of the database or of the publications. */
export function jobFailure(error: unknown): JobFailure {
  if (isRemoteFailure(error)) return remoteJobFailure(error)
  const message = errorMessage(error)
  if (isSvcError(error, 'PUB_UNKNOWN')) return failed('fatal', 'publication_unknown', message)
  if (isSvcError(error) && /^(?:DBS|PUB)_/.test(error.code))
    return { ...failed('transient', error.code.toLowerCase(), message), retryInMs: retryDelay('transient') }
  return failed('fatal', 'unexpected', `unexpected error: ${message}; see the log`)
}

/** A failure that is not repeated. */
export function failed(failureClass: FailureClass, code: string, message: string): JobFailure {
  return { failureClass, code, message, retryInMs: null, counts: true }
}

function remoteJobFailure({ failureClass, code, message, retryAfterMs }: RemoteFailure): JobFailure {
  return { failureClass, code, message, retryInMs: retryDelay(failureClass, retryAfterMs), counts: true }
}
