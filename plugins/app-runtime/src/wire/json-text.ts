import { isSafeNumber, parse, stringify } from 'lossless-json'

/** So many digits in a row may be a whole number that is not exact as a number. */
const LARGE = /\d{16}/

/** Parses a JSON text. Whole numbers beyond 2^53 become bigints. Throws a SyntaxError. */
export function parseJson(text: string): unknown {
  return LARGE.test(text) ? parse(text, undefined, { parseNumber, onDuplicateKey }) : JSON.parse(text)
}

/** The JSON text of what `parseJson` gives, with the digits of bigints. */
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

/** As JSON.parse has it. */
function onDuplicateKey({ newValue }: { readonly newValue: unknown }): unknown {
  return newValue
}

function hasBigint(data: unknown): boolean {
  if (typeof data === 'bigint') return true
  if (typeof data !== 'object' || data === null) return false
  return Object.values(data).some(hasBigint)
}
