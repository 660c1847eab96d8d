import { type HttpErrorForm, type HttpErrorForms, httpBodyErrors } from '@svc/contracts'
import { errorDocs, isSvcError, SvcError } from '@svc/plugin-sdk'
import { httpErrors } from './errors.ts'

export interface ErrorReply {
  readonly status: number
  readonly code: string
  /** JSON in the listener's format. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Builds the response for an error. Errors with a code of svc are sent unchanged. Fastify's body errors get such a code.
 * Other errors with a status from 400 to 499 keep status and message; all others become `HTTP_INTERNAL`.
 */
export function errorReply(error: unknown, requestId: string, forms: HttpErrorForms, url: string): ErrorReply {
  const known = isSvcError(error) ? error : translate(error)
  const { code, message, hint, data, status } = known
  const headers: Record<string, string> = {}
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  const retryAfterMs = (data as { retryAfterMs?: unknown } | null | undefined)?.retryAfterMs
  if (typeof retryAfterMs === 'number') headers['retry-after'] = String(Math.ceil(retryAfterMs / 1000))
  return {
    status: status >= 400 && status <= 599 ? status : 500,
    code,
    body: stringify(
      BODIES[formOf(forms, url)]({ status, code, message, hint, docs: errorDocs(known), request_id: requestId }),
      data
    ),
    headers
  }
}

interface ErrorFields {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly hint: string | undefined
  readonly docs: string | undefined
  readonly request_id: string
}

const BODIES: Readonly<Record<HttpErrorForm, (fields: ErrorFields) => (data: unknown) => object>> = {
  envelope:
    ({ code, message, hint, docs, request_id }) =>
    data => ({ error: { code, message, hint, data, request_id, docs } }),
  plain:
    ({ code, message, hint, request_id }) =>
    details => ({ error: message, code, details, hint, request_id }),
  openai:
    ({ status, code, message, request_id }) =>
    () => ({
      error: {
        message,
        type: status === 401 ? 'authentication_error' : status >= 500 ? 'server_error' : 'invalid_request_error',
        param: null,
        code,
        request_id
      }
    })
}

function formOf(forms: HttpErrorForms, url: string): HttpErrorForm {
  if (typeof forms === 'string') return forms
  let found: HttpErrorForm = 'envelope'
  let length = 0
  for (const [beginning, form] of Object.entries(forms)) {
    if (!url.startsWith(beginning) || beginning.length < length) continue
    found = form
    length = beginning.length
  }
  return found
}

/** Serialises an error body. Data that JSON cannot represent is left out, so that the error is still sent. */
function stringify(body: (data: unknown) => object, data: unknown): string {
  try {
    return JSON.stringify(body(data))
  } catch {
    return JSON.stringify(body(undefined))
  }
}

/** Errors of Fastify that a request can cause, by code. */
const FASTIFY: Readonly<Record<string, () => SvcError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    httpBodyErrors.create('HTTP_MEDIA_TYPE', 'the content type of the body is not one that this route reads', {
      hint: 'send JSON with content-type: application/json'
    }),
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    httpBodyErrors.create('HTTP_BODY_TOO_LARGE', 'the body is larger than this route accepts', {
      hint: 'send less, or raise body_limit_bytes in [plugins.http]'
    }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    httpErrors.create('HTTP_MALFORMED', 'the body is shorter or longer than its content-length')
}

/** Converts an error without a code of svc. Keeps the message of a 4xx error, but not of a 5xx error. */
function translate(error: unknown): SvcError {
  const { code, statusCode, status, message } = (error ?? {}) as Record<string, unknown>
  const known = typeof code === 'string' ? FASTIFY[code] : undefined
  if (known !== undefined) return known()
  const refusal = Number(statusCode ?? status)
  if (refusal >= 400 && refusal < 500) return new SvcError('HTTP_REFUSED', String(message), { status: refusal })
  return httpErrors.create(
    'HTTP_INTERNAL',
    'the request failed inside the server; its log has the cause under this request id'
  )
}
