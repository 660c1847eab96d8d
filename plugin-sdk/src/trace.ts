/** Hex digits of every byte. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const POOL = new Uint8Array(4096)
let used = POOL.length

/** Random hex, drawn from a pool, since a system call per request would cost more than the request. */
export function randomHex(bytes: number): string {
  if (used + bytes > POOL.length) {
    crypto.getRandomValues(POOL)
    used = 0
  }
  let text = ''
  for (const end = used + bytes; used < end; used++) text += HEX[POOL[used] as number]
  return text
}

/** Ids of a W3C `traceparent` (https://www.w3.org/TR/trace-context). */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits: the step of the caller. */
  readonly spanId: string
}

/** Any version except the forbidden `ff`; later ones may add fields at the end. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/

/** Reads a `traceparent`; undefined if it is absent, malformed or all zero. */
export function parseTraceparent(traceparent: string | undefined): TraceContext | undefined {
  const [, traceId, spanId] = (traceparent === undefined ? null : TRACEPARENT.exec(traceparent)) ?? []
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId }
}

/** Writes the `traceparent` that a step sends to the next one; without a span, under a random one. */
export function traceparentOf(traceId: string, spanId: string = randomHex(8)): string {
  return `00-${traceId}-${spanId}-01`
}
