import { isSafeNumber, parse, stringify } from 'lossless-json'

/** This many digits in a row may be an integer that is not exact as a number. */
const LARGE = /\d{16}/

/** Parses a JSON text. Integers beyond 2^53 become bigints. Throws a SyntaxError. */
export function parseJson(text: string): unknown {
  return LARGE.test(text) ? parse(text, undefined, { parseNumber, onDuplicateKey }) : JSON.parse(text)
}

/** The JSON text of a `parseJson` result, with all digits of bigints. */
export function printJson(data: unknown): string {
  try {
    return JSON.stringify(data)
  } catch (error) {
    if (error instanceof RangeError || !hasBigint(data)) throw error
    return stringify(data) ?? 'null'
  }
}

function parseNumber(text: string): unknown {
  if (/[.eE]/.test(text) || isSafeNumber(text)) return Number(text)
  return BigInt(text)
}

/** Same rules as JSON.parse. */
function onDuplicateKey({ newValue }: { readonly newValue: unknown }): unknown {
  return newValue
}

function hasBigint(data: unknown): boolean {
  if (typeof data === 'bigint') return true
  if (typeof data !== 'object' || data === null) return false
  return Object.values(data).some(hasBigint)
}
