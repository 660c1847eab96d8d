import { randomFillSync } from 'node:crypto'

const POOL = Buffer.allocUnsafe(4096)
let used = POOL.length

/** Random hex, drawn from a pool, since a system call per request would cost more than the request. */
export function randomHex(bytes: number): string {
  if (used + bytes > POOL.length) {
    randomFillSync(POOL)
    used = 0
  }
  used += bytes
  return POOL.toString('hex', used - bytes, used)
}

/** Any version except the forbidden `ff`; later ones may add fields at the end. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/

/** Trace id of a W3C `traceparent`; a new one when it is absent, malformed or all zero (https://www.w3.org/TR/trace-context). */
export function traceIdOf(traceparent: string | undefined): string {
  return (traceparent === undefined ? undefined : TRACEPARENT.exec(traceparent)?.[1]) ?? randomHex(16)
}

/** Returns a `traceparent` for the next step of a trace. */
export function traceparentOf(traceId: string): string {
  return `00-${traceId}-${randomHex(8)}-01`
}
