/** Classes of failures of an archive or a channel. They decide whether an attempt is repeated. */
export const FAILURE_CLASSES = ['disabled', 'config', 'auth', 'rate_limit', 'transient', 'fatal', 'preflight'] as const
export type FailureClass = (typeof FAILURE_CLASSES)[number]

export interface RemoteFailureDetails {
  readonly failureClass: FailureClass
  /** Stable code in lower case, such as `http_429` or `outcome_unknown`. */
  readonly code: string
  readonly httpStatus?: number
  /** Milliseconds that the service asked to wait. */
  readonly retryAfterMs?: number
  /** True if the request may have had its effect, such as after a connection that ended before the answer. */
  readonly outcomeUnknown?: boolean
}

/** Failure of an archive or a channel. The message names the service and contains no credentials and no bodies. */
export class RemoteFailure extends Error implements RemoteFailureDetails {
  override readonly name = 'RemoteFailure'
  readonly failureClass: FailureClass
  readonly code: string
  readonly httpStatus?: number
  readonly retryAfterMs?: number
  readonly outcomeUnknown: boolean

  constructor(message: string, details: RemoteFailureDetails) {
    super(message)
    this.failureClass = details.failureClass
    this.code = details.code
    if (details.httpStatus !== undefined) this.httpStatus = details.httpStatus
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs
    this.outcomeUnknown = details.outcomeUnknown ?? false
  }

  /** Whether the same attempt may succeed later. */
  get retryable(): boolean {
    return this.failureClass === 'rate_limit' || this.failureClass === 'transient'
  }
}

/** Returns whether an error is a {@link RemoteFailure}, also one from another plugin's copy of this class. */
export function isRemoteFailure(error: unknown): error is RemoteFailure {
  return error instanceof Error && error.name === 'RemoteFailure' && 'failureClass' in error
}
