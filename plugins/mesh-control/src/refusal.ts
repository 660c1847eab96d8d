import { MESH_ERROR_PREFIX } from '@svc/contracts'
import { isSvcError, type SvcError } from '@svc/plugin-sdk'
import { controlErrors } from './errors.ts'

type Code = keyof typeof controlErrors.specs

/** Returns the error for a refused request. The message is the body of the response. */
export function refuse(code: Code, message: string, retryAfterMs?: number): SvcError {
  return controlErrors.create(code, message, retryAfterMs === undefined ? {} : { data: { retryAfterMs } })
}

/** A refusal as a response in plain text. */
export interface RefusalReply {
  readonly status: number
  readonly code: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** Returns the refusal for an error of a route; null if it is unexpected and must be logged. */
export function refusalOf(error: unknown): RefusalReply | null {
  const known = isSvcError(error) ? (error.code.startsWith('MSC_') ? error : translate(error)) : null
  return known && replyOf(known)
}

export function replyOf({ code, message, status, data }: SvcError): RefusalReply {
  const headers: Record<string, string> = {}
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  const { retryAfterMs } = (data ?? {}) as { readonly retryAfterMs?: number }
  if (retryAfterMs !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))
  return { status, code, body: `${MESH_ERROR_PREFIX}${message}`, headers }
}

/** Translates errors of the store and of the body reader. */
function translate(error: SvcError): SvcError | null {
  switch (error.code) {
    case 'CRD_UNAVAILABLE':
    case 'CRD_CLOSED':
      return refuse('MSC_UNAVAILABLE', 'the store does not respond; try again', 1_000)
    case 'CRD_TOO_LARGE':
      return refuse('MSC_BODY_TOO_LARGE', 'the record or message is too large for the store')
    case 'CRD_VALUE_INVALID':
      return refuse('MSC_BODY_INVALID', 'a value is outside of the range that the store accepts')
    case 'HTTP_BODY_TOO_LARGE':
      return refuse('MSC_BODY_TOO_LARGE', error.message)
    case 'HTTP_MEDIA_TYPE':
      return refuse('MSC_MEDIA_TYPE', 'the content type must be application/json')
    case 'HTTP_BODY_NOT_UTF8':
    case 'HTTP_BODY_INVALID':
      return refuse('MSC_BODY_INVALID', error.message)
    default:
      return null
  }
}
