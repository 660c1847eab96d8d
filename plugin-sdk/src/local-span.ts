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
const LOW_NUMBERS = 16 ** LOW_DIGITS
const MAX_SPANS = 2 ** 44

/** Random parts of the ids of this process. */
interface ProcessIds {
  readonly spanPrefix: string
  readonly tracePrefix: string
  /** Added to the numbers in ids, so that those of processes rarely overlap. */
  readonly base: number
  /** Last digits of ids, by their number. */
  readonly low: readonly string[]
}

/** Made on first use: a process without requests needs neither random numbers, whose module loads slowly, nor ids. */
let known: ProcessIds | null = null
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
  return typeof span === 'string' ? span : processIds().spanPrefix + digitsOf(span)
}

/** Returns a trace id: 32 hex digits. */
export function traceIdOf(root: number | string): string {
  return typeof root === 'string' ? root : processIds().tracePrefix + digitsOf(root)
}

/** Returns a request id; a generated one has 12 hex digits. */
export function requestIdOf(request: number | string): string {
  return typeof request === 'string' ? request : digitsOf(request)
}

/** Returns the ids of a span as texts. */
export function traceContextOf({ traceRoot, spanNumber, sampled }: LocalSpan): Required<TraceContext> {
  return { traceId: traceIdOf(traceRoot), spanId: spanIdOf(spanNumber), sampled }
}

function processIds(): ProcessIds {
  known ??= {
    spanPrefix: randomHex(2),
    tracePrefix: randomHex(10),
    base: Number.parseInt(randomHex(6), 16) % (16 ** DIGITS - MAX_SPANS),
    low: Array.from({ length: LOW_NUMBERS }, (_, low) => low.toString(16).padStart(LOW_DIGITS, '0'))
  }
  return known
}

/** V8 copies texts of up to 12 characters at once, and builds a rope for longer ones. */
function digitsOf(span: number): string {
  const { base, low } = processIds()
  const number = base + span
  const high = Math.floor(number / LOW_NUMBERS)
  if (high !== lastHigh) {
    lastHigh = high
    highText = high.toString(16).padStart(DIGITS - LOW_DIGITS, '0')
  }
  return highText + (low[number % LOW_NUMBERS] as string)
}
