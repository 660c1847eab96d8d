import { type Dfa, exploreDfa } from './dfa.ts'
import type { Multiples } from './multiples.ts'
import { compileRegex } from './regex.ts'

/**
 * Maximum number of digits before an exponent. Up to this length, different decimals are different doubles in the same
 * order, so bounds hold for the parsed value.
 */
const MAX_DIGITS = 15
const TOO_LARGE = 10 ** MAX_DIGITS

/** Bounds of a number in JSON Schema. */
export interface NumberBounds {
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  readonly exclusiveMinimum?: number | undefined
  readonly exclusiveMaximum?: number | undefined
}

/**
 * Returns an automaton of JSON numbers, or integers, within bounds, and only of the multiples if they are given. Null if
 * no number of up to 15 digits fits.
 */
export function numbers(integer: boolean, bounds: NumberBounds, multiples: Multiples | null = null): Dfa | null {
  const lower = tightest([bounds.minimum, bounds.exclusiveMinimum], Math.max)
  const upper = tightest([bounds.maximum, bounds.exclusiveMaximum], Math.min)
  if (lower === null && upper === null && multiples === null) {
    const whole = `[1-9]\\d{0,${MAX_DIGITS - 1}}`
    const pattern = integer ? `0|-?${whole}` : `-?(?:0|${whole})(?:\\.\\d{1,${MAX_DIGITS}})?(?:[eE][+-]?\\d{1,2})?`
    return compileRegex(pattern, { path: 'number', match: 'whole' })
  }
  const positive = side(lower, upper)
  const negative = side(opposite(upper), opposite(lower))
  const start = (bounds: Side | null): Reading => {
    return { bounds, whole: 0, zero: false, fraction: -1, low: 0, high: 0, remainder: 0 }
  }
  return exploreDfa<Reading>({
    start: start(positive),
    key: ({ bounds, ...reading }) => `${bounds === negative}${Object.values(reading)}`,
    accepts: reading => endsWithin(reading) && endsAtMultiple(reading, multiples),
    *edges(reading) {
      const { bounds, whole, zero, fraction } = reading
      if (bounds !== negative && whole === 0) yield [MINUS, MINUS, start(negative)]
      if (bounds === null) return
      if (!integer && whole > 0 && fraction < 0) yield [POINT, POINT, readPoint(reading)]
      const full = whole + Math.max(fraction, 0) >= MAX_DIGITS
      if (full || (zero && fraction < 0)) return
      const first = integer && whole === 0 && bounds === negative ? 1 : 0
      // Digits after those of the step must be zeros.
      const last = multiples !== null && fraction >= multiples.scale ? 0 : 9
      for (let digit = first; digit <= last; digit++) {
        yield [ZERO + digit, ZERO + digit, readDigit(reading, digit, multiples)]
      }
    }
  })
}

export function isWithin(value: number, bounds: NumberBounds): boolean {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = bounds
  const { exclusiveMinimum = Number.NEGATIVE_INFINITY, exclusiveMaximum = Number.POSITIVE_INFINITY } = bounds
  return minimum <= value && value <= maximum && exclusiveMinimum < value && value < exclusiveMaximum
}

const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30

interface Limit {
  readonly value: number
  readonly inclusive: boolean
}

function tightest(
  [inclusive, exclusive]: readonly (number | undefined)[],
  choose: (...values: number[]) => number
): Limit | null {
  if (inclusive === undefined && exclusive === undefined) return null
  const value = choose(...[inclusive, exclusive].filter(limit => limit !== undefined))
  return { value, inclusive: value !== exclusive }
}

function opposite(limit: Limit | null): Limit | null {
  return limit === null ? null : { ...limit, value: -limit.value }
}

/** Bounds on the magnitudes of numbers of one sign; null for a bound that excludes none of them. */
interface Side {
  readonly low: Bound | null
  readonly high: Bound | null
}

interface Bound {
  /** Decimal digits before the point, and after it without trailing zeros. */
  readonly whole: string
  readonly fraction: string
  readonly inclusive: boolean
}

/** Returns the bounds on positive numbers; null if none of them is within the limits. */
function side(lower: Limit | null, upper: Limit | null): Side | null {
  if (upper !== null && upper.value < 0) return null
  if (lower !== null && lower.value >= TOO_LARGE) return null
  return {
    low: lower === null || lower.value < 0 ? null : bound(lower),
    high: upper === null || upper.value >= TOO_LARGE ? null : bound(upper)
  }
}

function bound({ value, inclusive }: Limit): Bound {
  const [digits = '', exponent = '0'] = String(Math.abs(value)).split('e')
  const [whole = '', fraction = ''] = digits.split('.')
  const zeros = '0'.repeat(Math.max(0, -Number(exponent) - 1))
  if (exponent === '0') return { whole, fraction, inclusive }
  return { whole: '0', fraction: `${zeros}${whole}${fraction}`, inclusive }
}

/** Comparison of the digits so far with those of a bound: -1 less, 0 equal, 1 greater. */
type Order = -1 | 0 | 1

interface Reading {
  readonly bounds: Side | null
  /** Number of digits before the point. */
  readonly whole: number
  /** True after a leading zero, which no digit follows. */
  readonly zero: boolean
  /** Number of digits after the point; -1 before it. */
  readonly fraction: number
  readonly low: Order
  readonly high: Order
  /** Remainder of the digits so far by the step of the multiples; 0 without one. */
  readonly remainder: number
}

function readDigit(reading: Reading, digit: number, multiples: Multiples | null): Reading {
  const part = reading.fraction < 0 ? 'whole' : 'fraction'
  const position = reading[part]
  const order = (soFar: Order, bound: Bound | null | undefined): Order =>
    soFar === 0 && bound ? (Math.sign(digit - Number(bound[part][position] ?? 0)) as Order) : soFar
  return {
    ...reading,
    [part]: position + 1,
    zero: reading.zero || (part === 'whole' && position === 0 && digit === 0),
    low: order(reading.low, reading.bounds?.low),
    high: order(reading.high, reading.bounds?.high),
    remainder: remainderAfter(reading, digit, multiples)
  }
}

function remainderAfter({ remainder, fraction }: Reading, digit: number, multiples: Multiples | null): number {
  if (multiples === null || fraction >= multiples.scale) return remainder
  return (remainder * 10 + digit) % multiples.step
}

function endsAtMultiple({ remainder, fraction }: Reading, multiples: Multiples | null): boolean {
  if (multiples === null) return true
  let rest = remainder
  for (let place = Math.max(fraction, 0); place < multiples.scale; place++) rest = (rest * 10) % multiples.step
  return rest === 0
}

/** Reads the point. The comparison then depends first on the number of digits before it. */
function readPoint(reading: Reading): Reading {
  const order = (soFar: Order, bound: Bound | null | undefined): Order =>
    bound ? ((Math.sign(reading.whole - bound.whole.length) || soFar) as Order) : soFar
  return {
    ...reading,
    fraction: 0,
    low: order(reading.low, reading.bounds?.low),
    high: order(reading.high, reading.bounds?.high)
  }
}

function endsWithin(reading: Reading): boolean {
  const { bounds, whole, fraction } = reading
  if (bounds === null || whole === 0 || fraction === 0) return false
  const { low, high } = fraction < 0 ? readPoint(reading) : reading
  const order = (soFar: Order, bound: Bound): Order =>
    soFar === 0 && bound.fraction.length > Math.max(fraction, 0) ? -1 : soFar
  const above = bounds.low === null ? 1 : order(low, bounds.low)
  const below = bounds.high === null ? -1 : order(high, bounds.high)
  return (
    (above === 0 ? bounds.low?.inclusive === true : above > 0) &&
    (below === 0 ? bounds.high?.inclusive === true : below < 0)
  )
}
