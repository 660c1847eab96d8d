import { type RemoteAnswer, RemoteFailure } from '@svc/contracts'

/** Milliseconds to wait if a service does not say how long. */
const DEFAULT_WAIT_MS = 60_000
/** A longer wait is not believed: the largest windows of rate limits are days. */
const MAX_WAIT_MS = 86_400_000

/**
 * Returns the failure of a 429 answer. Reads `Retry-After`, and the given header with the time at which the limit
 * ends: Unix seconds, or a date.
 */
export function rateLimited(service: string, { headers }: RemoteAnswer, resetHeader: string): RemoteFailure {
  const waits = [waitOf(headers.get('retry-after'), true), waitOf(headers.get(resetHeader), false)]
  const retryAfterMs = waits.find(wait => wait !== null) ?? DEFAULT_WAIT_MS
  return limitReached(service, retryAfterMs)
}

export function limitReached(service: string, retryAfterMs: number): RemoteFailure {
  return new RemoteFailure(`${service}: the rate limit is reached (429); try again later`, {
    failureClass: 'rate_limit',
    code: 'http_429',
    httpStatus: 429,
    retryAfterMs: Math.min(Math.max(0, Math.ceil(retryAfterMs)), MAX_WAIT_MS)
  })
}

function waitOf(value: string | null, isRelative: boolean): number | null {
  if (value === null) return null
  if (/^\d+(?:\.\d+)?$/.test(value.trim())) {
    const ms = Number(value) * 1_000
    return isRelative ? ms : Math.max(0, ms - Date.now())
  }
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}
