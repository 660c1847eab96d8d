import type { gatewayErrors } from '../errors.ts'

/** Response to a rejected request. */
export interface Refusal {
  /** Code for the access record; clients get only the text. */
  readonly code: RefusalCode
  readonly status: number
  /** JSON: `{ "error": text }`. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export type RefusalCode = keyof typeof gatewayErrors.specs

export function refusal(
  code: RefusalCode,
  status: number,
  error: string,
  headers: Readonly<Record<string, string>> = {}
): Refusal {
  return { code, status, body: JSON.stringify({ error }), headers }
}

export const ORIGIN_DENIED = refusal('GWY_ORIGIN_DENIED', 403, 'origin_denied')
export const HOST_DENIED = refusal('GWY_HOST_DENIED', 403, 'host_denied')
export const UNAUTHORIZED = refusal('GWY_UNAUTHORIZED', 401, 'missing or invalid bearer token', {
  'www-authenticate': 'Bearer'
})
export const HTTPS_REQUIRED = refusal(
  'GWY_HTTPS_REQUIRED',
  403,
  'https is required: the header X-Forwarded-Proto must say https'
)

export function tooMany(perMinute: number, waitMs: number): Refusal {
  const headers = { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) }
  return refusal('GWY_RATE_LIMITED', 429, tooManyText(perMinute), headers)
}

export function tooManyText(perMinute: number): string {
  return `rate limit exceeded (max ${perMinute} requests/minute)`
}
