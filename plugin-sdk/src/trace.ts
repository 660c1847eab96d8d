/** Random bytes of one refill of the pool. */
const POOL_BYTES = 4096
/** Random hex digits, of which the first `used` were returned. */
let pool = ''
let used = 0

/**
 * Returns random hex digits from a pool, since a system call per request would cost more than the request. The pool is
 * one text: a slice of it costs less than a text that is concatenated from digits.
 */
export function randomHex(bytes: number): string {
  if (used + 2 * bytes > pool.length) {
    const random = crypto.getRandomValues(new Uint8Array(Math.max(POOL_BYTES, bytes)))
    // Not with Buffer: pages of the console may import this package, too.
    pool = Array.from(random, byte => byte.toString(16).padStart(2, '0')).join('')
    used = 0
  }
  const begin = used
  used += 2 * bytes
  return pool.slice(begin, used)
}

/** Ids from a W3C `traceparent` (https://www.w3.org/TR/trace-context). */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** Span id of the caller: 16 hex digits. */
  readonly spanId: string
  /** Whether the details of the trace are recorded, such as database statements. Default false. */
  readonly sampled?: boolean
}

/** Matches all versions but the invalid `ff`. Later versions may append fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/

/** Bit of the trace flags: the caller may have recorded its part of the trace. */
const SAMPLED = 1

/** Parses a `traceparent`. Returns undefined if it is absent, malformed or all zeros. */
export function parseTraceparent(traceparent: string | undefined): Required<TraceContext> | undefined {
  const found = traceparent === undefined ? null : TRACEPARENT.exec(traceparent)
  if (found === null) return undefined
  const [, traceId, spanId, flags] = found as unknown as [string, string, string, string]
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 }
}

/** Formats a `traceparent`. Default: a random span id, and not sampled. */
export function traceparentOf(traceId: string, spanId: string = randomHex(8), sampled = false): string {
  return `00-${traceId}-${spanId}-0${sampled ? SAMPLED : 0}`
}
