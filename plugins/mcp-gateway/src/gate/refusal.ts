/** Response to a rejected request. */
export interface Refusal {
  readonly status: number
  /** JSON: `{ "error": text }`. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export function refusal(status: number, error: string, headers: Readonly<Record<string, string>> = {}): Refusal {
  return { status, body: JSON.stringify({ error }), headers }
}

export const ORIGIN_DENIED = refusal(403, 'origin_denied')
export const HOST_DENIED = refusal(403, 'host_denied')
export const UNAUTHORIZED = refusal(401, 'missing or invalid bearer token', { 'www-authenticate': 'Bearer' })
export const HTTPS_REQUIRED = refusal(403, 'https is required: the header X-Forwarded-Proto must say https')

export function tooMany(perMinute: number, waitMs: number): Refusal {
  const headers = { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) }
  return refusal(429, tooManyText(perMinute), headers)
}

export function tooManyText(perMinute: number): string {
  return `rate limit exceeded (max ${perMinute} requests/minute)`
}
