const MAX_MS = 3_600_000
/** A date begins with its weekday. `Date.parse` reads nearly everything. */
const DATE = /^[A-Z][a-z]+,? /

/** Returns the milliseconds of a `Retry-After` header: seconds or a date (RFC 9110, 10.2.3). Null if it has neither. */
export function retryAfterMs(header: string | undefined, nowMs: number = Date.now()): number | null {
  if (header === undefined) return null
  const text = header.trim()
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : DATE.test(text) ? Date.parse(text) - nowMs : Number.NaN
  return Number.isFinite(ms) ? Math.min(MAX_MS, Math.max(0, ms)) : null
}
