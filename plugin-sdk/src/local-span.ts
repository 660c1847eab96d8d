import { randomHex, type TraceContext } from './trace.ts'

/**
 * Span of this process. Its ids are numbers until they are read: most are never read, and texts that are kept for
 * minutes cost the garbage collector more than the rest of a small request.
 */
export interface LocalSpan {
  /** Number of the span; see {@link spanIdOf}. */
  readonly spanNumber: number
  /** Number of the span that began the trace, or the trace id, if it began elsewhere; see {@link traceIdOf}. */
  readonly traceRoot: number | string
  /** Number of the enclosing span, or its span id, if it is elsewhere; null if the span began the trace. */
  readonly parentSpan: number | string | null
  /** Number of the span that the request is named after, or the request id of the client; see {@link requestIdOf}. */
  readonly requestName: number | string
  readonly sampled: boolean
}

/** Digits of a number in an id. */
const DIGITS = 12
const LOW_DIGITS = 3
const LOW = Array.from({ length: 16 ** LOW_DIGITS }, (_, low) => low.toString(16).padStart(LOW_DIGITS, '0'))
/** Rest of the ids of this process. */
const SPAN_PREFIX = randomHex(2)
const TRACE_PREFIX = randomHex(10)
const MAX_SPANS = 2 ** 44

/** Added to the numbers in ids, so that those of processes rarely overlap. */
const BASE = Number.parseInt(randomHex(6), 16) % (16 ** DIGITS - MAX_SPANS)
/** A small integer: V8 stores those without an object. */
let last = 0
let lastHigh = -1
let highText = ''

/** Returns the number of a new span. */
export function newSpanNumber(): number {
  last += 1
  return last
}

/** Returns a span id: 16 hex digits. */
export function spanIdOf(span: number | string): string {
  return typeof span === 'string' ? span : SPAN_PREFIX + digitsOf(span)
}

/** Returns a trace id: 32 hex digits. */
export function traceIdOf(root: number | string): string {
  return typeof root === 'string' ? root : TRACE_PREFIX + digitsOf(root)
}

/** Returns a request id; a generated one has 12 hex digits. */
export function requestIdOf(request: number | string): string {
  return typeof request === 'string' ? request : digitsOf(request)
}

/** Returns the ids of a span as texts. */
export function traceContextOf({ traceRoot, spanNumber, sampled }: LocalSpan): Required<TraceContext> {
  return { traceId: traceIdOf(traceRoot), spanId: spanIdOf(spanNumber), sampled }
}

/** V8 copies texts of up to 12 characters at once, and builds a rope for longer ones. */
function digitsOf(span: number): string {
  const number = BASE + span
  const high = Math.floor(number / LOW.length)
  if (high !== lastHigh) {
    lastHigh = high
    highText = high.toString(16).padStart(DIGITS - LOW_DIGITS, '0')
  }
  return highText + (LOW[number % LOW.length] as string)
}
