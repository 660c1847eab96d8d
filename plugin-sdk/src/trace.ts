/** Two hex digits for each byte value. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const POOL = new Uint8Array(4096)
let used = POOL.length

/** Returns random hex digits from a pool, since a system call per request would cost more than the request. */
export function randomHex(bytes: number): string {
  if (used + bytes > POOL.length) {
    crypto.getRandomValues(POOL)
    used = 0
  }
  let text = ''
  for (const end = used + bytes; used < end; used++) text += HEX[POOL[used] as number]
  return text
}

/** Ids from a W3C `traceparent` (https://www.w3.org/TR/trace-context). */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** Span id of the caller: 16 hex digits. */
  readonly spanId: string
}

/** Matches all versions but the invalid `ff`. Later versions may append fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/

/** Parses a `traceparent`. Returns undefined if it is absent, malformed or all zeros. */
export function parseTraceparent(traceparent: string | undefined): TraceContext | undefined {
  const [, traceId, spanId] = (traceparent === undefined ? null : TRACEPARENT.exec(traceparent)) ?? []
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId }
}

/** Formats a `traceparent`. Default: a random span id. */
export function traceparentOf(traceId: string, spanId: string = randomHex(8)): string {
  return `00-${traceId}-${spanId}-01`
}
