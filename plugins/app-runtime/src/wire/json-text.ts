import { parseStrictJson } from '@svc/plugin-sdk'
import { isSafeNumber, LosslessNumber, parse, stringify } from 'lossless-json'

/** 16 or more digits may be an integer that a number does not represent exactly. */
const LARGE = /\d{16}/

/** Parses JSON of this process or a trusted source. Integers beyond 2^53 become bigints. Throws a SyntaxError. */
export function parseJson(text: string): unknown {
  return LARGE.test(text) ? parse(text, undefined, { parseNumber, onDuplicateKey }) : JSON.parse(text)
}

/**
 * Like {@link parseJson}, for JSON of clients: rejects duplicate and forbidden keys and deep nesting. Throws a
 * StrictJsonError.
 */
export function parseClientJson(text: string): unknown {
  const value = parseStrictJson(text)
  return LARGE.test(text) ? parseJson(text) : value
}

/** True if the text being printed contains a {@link LargeFloat}. */
let hasLargeFloat = false

/**
 * A float without a fraction, from 2^53 on. It is printed with an exponent, so that no parser of ints takes it for one.
 */
export class LargeFloat extends LosslessNumber {
  constructor(value: number) {
    super(value.toExponential())
  }

  toJSON(): number {
    hasLargeFloat = true
    return Number(this.value)
  }
}

/** Writes JSON with all digits of bigints: the inverse of `parseJson`. */
export function printJson(data: unknown): string {
  hasLargeFloat = false
  try {
    const text = JSON.stringify(data)
    return hasLargeFloat ? (stringify(data) ?? 'null') : text
  } catch (error) {
    if (error instanceof RangeError || !hasBigint(data)) throw error
    return stringify(data) ?? 'null'
  }
}

function parseNumber(text: string): unknown {
  if (/[.eE]/.test(text) || isSafeNumber(text)) return Number(text)
  return BigInt(text)
}

/** Uses the last of several equal keys, as JSON.parse does. */
function onDuplicateKey({ newValue }: { readonly newValue: unknown }): unknown {
  return newValue
}

function hasBigint(data: unknown): boolean {
  if (typeof data === 'bigint') return true
  if (typeof data !== 'object' || data === null) return false
  return Object.values(data).some(hasBigint)
}
