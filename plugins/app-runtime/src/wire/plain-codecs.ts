import { Decimal } from '../interpreter/decimal.ts'
import { excerpt } from '../interpreter/display.ts'
import { typeName } from '../interpreter/type-name.ts'
import { Float, isInt, Json, type Value } from '../interpreter/value.ts'
import type { Codec } from './codec.ts'
import { LargeFloat } from './json-text.ts'
import { mismatch, shownJson } from './mismatch.ts'

const MIN_INT = -(1n << 63n)
const MAX_INT = (1n << 63n) - 1n

export const INT: Codec = {
  name: 'int',
  isOptional: false,
  decode(json) {
    if (typeof json === 'number' && Number.isSafeInteger(json)) return json === 0 ? 0 : json
    if (typeof json === 'bigint' && json >= MIN_INT && json <= MAX_INT) return json
    return mismatch('int', shownJson(json))
  },
  encode: value => (isInt(value) ? value : wrong('int', value))
}

export const FLOAT: Codec = {
  name: 'float',
  isOptional: false,
  decode(json) {
    const isNumber = typeof json === 'number' || typeof json === 'bigint'
    // JSON.parse returns Infinity for a number that is too large.
    if (isNumber && Number.isFinite(Number(json))) return new Float(Number(json))
    return mismatch('float', shownJson(json))
  },
  encode(value) {
    if (isInt(value)) return Number(value)
    if (!(value instanceof Float)) return wrong('float', value)
    if (Number.isInteger(value.value) && !Number.isSafeInteger(value.value)) return new LargeFloat(value.value)
    return Number.isFinite(value.value) ? value.value : mismatch('a float that JSON can represent', `${value.value}`)
  }
}

export const STR: Codec = {
  name: 'str',
  isOptional: false,
  decode: json => (typeof json === 'string' ? json : mismatch('str', shownJson(json))),
  encode: value => (typeof value === 'string' ? value : wrong('str', value))
}

export const CHAR: Codec = {
  name: 'char',
  isOptional: false,
  decode: json => (isCharacter(json) ? json : mismatch('char', shownJson(json))),
  encode: value => (isCharacter(value) ? value : wrong('char', value))
}

export const BOOL: Codec = {
  name: 'bool',
  isOptional: false,
  decode: json => (typeof json === 'boolean' ? json : mismatch('bool', shownJson(json))),
  encode: value => (typeof value === 'boolean' ? value : wrong('bool', value))
}

/** Codec of dec: a string, because JSON parsers read numbers as floats. An integer is accepted, too. */
export const DEC: Codec = {
  name: 'dec',
  isOptional: false,
  decode(json) {
    const isWhole = typeof json === 'bigint' || (typeof json === 'number' && Number.isSafeInteger(json))
    const decimal = typeof json === 'string' || isWhole ? Decimal.parse(String(json)) : undefined
    return decimal ?? mismatch('dec as a string such as "12.50"', shownJson(json))
  },
  encode: value => (value instanceof Decimal ? value.toString() : wrong('dec', value))
}

export const UNIT: Codec = {
  name: 'Unit',
  isOptional: true,
  decode: json => (json === null || json === undefined ? null : mismatch('null', shownJson(json))),
  // The result of a function without a result type is not sent to the caller.
  encode: () => null
}

/** Codec of `Json`, which is passed through unchanged. */
export const JSON_VALUE: Codec = {
  name: 'Json',
  isOptional: false,
  decode: json => (json === undefined ? mismatch('Json', 'nothing') : new Json(withoutBigints(json))),
  encode: value => (value instanceof Json ? value.data : wrong('Json', value))
}

/** Converts bigints to numbers: numbers in a `Json` have JavaScript's precision. */
function withoutBigints(json: unknown): unknown {
  if (typeof json === 'bigint') return Number(json)
  if (Array.isArray(json)) return json.map(withoutBigints)
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(Object.entries(json).map(([key, each]) => [key, withoutBigints(each)]))
}

function isCharacter(value: unknown): value is string {
  return typeof value === 'string' && [...value].length === 1
}

/** Throws a mismatch for a value that does not have its declared type. */
export function wrong(expected: string, value: Value): never {
  return mismatch(expected, `${typeName(value)} ${excerpt(value)}`)
}
