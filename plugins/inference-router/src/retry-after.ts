const MAX_MS = 3_600_000

/** Returns the milliseconds of a `Retry-After` header: seconds or a date (RFC 9110, 10.2.3). Null if it has neither. */
export function retryAfterMs(header: string | undefined, nowMs: number = Date.now()): number | null {
  if (header === undefined) return null
  const text = header.trim()
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isFinite(ms) ? Math.min(MAX_MS, Math.max(0, ms)) : null
}
