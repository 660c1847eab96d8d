import { Decimal } from '../interpreter/decimal.ts'
import { excerpt } from '../interpreter/display.ts'
import { jsonValue } from '../interpreter/json.ts'
import { typeName } from '../interpreter/type-name.ts'
import { Float, isInt, Json, type Value } from '../interpreter/value.ts'
import type { Codec } from './codec.ts'
import { LargeFloat } from './json-text.ts'
import { mismatch, shownJson } from './mismatch.ts'

interface PlainType extends Pick<Codec, 'name' | 'decode' | 'encode'> {
  /** Returns the value of the type that a value stands for; undefined if there is none. */
  readonly accept: (value: Value) => Value | undefined
}

function plain({ accept, ...codec }: PlainType): Codec {
  return {
    ...codec,
    isOptional: false,
    check(value, meter) {
      meter.charge(1)
      const given = value instanceof Json ? jsonValue(value.data) : value
      return accept(given) ?? wrong(codec.name, given)
    }
  }
}

const MIN_INT = -(1n << 63n)
const MAX_INT = (1n << 63n) - 1n

export const INT: Codec = plain({
  name: 'int',
  decode(json) {
    if (typeof json === 'number' && Number.isSafeInteger(json)) return json === 0 ? 0 : json
    if (typeof json === 'bigint' && json >= MIN_INT && json <= MAX_INT) return json
    return mismatch('int', shownJson(json))
  },
  encode: value => (isInt(value) ? value : wrong('int', value)),
  accept: value => (isInt(value) ? value : undefined)
})

export const FLOAT: Codec = plain({
  name: 'float',
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
  },
  accept: value => (value instanceof Float ? value : isInt(value) ? new Float(Number(value)) : undefined)
})

export const STR: Codec = plain({
  name: 'str',
  decode: json => (typeof json === 'string' ? json : mismatch('str', shownJson(json))),
  encode: value => (typeof value === 'string' ? value : wrong('str', value)),
  accept: value => (typeof value === 'string' ? value : undefined)
})

export const CHAR: Codec = plain({
  name: 'char',
  decode: json => (isCharacter(json) ? json : mismatch('char', shownJson(json))),
  encode: value => (isCharacter(value) ? value : wrong('char', value)),
  accept: value => (isCharacter(value) ? value : undefined)
})

export const BOOL: Codec = plain({
  name: 'bool',
  decode: json => (typeof json === 'boolean' ? json : mismatch('bool', shownJson(json))),
  encode: value => (typeof value === 'boolean' ? value : wrong('bool', value)),
  accept: value => (typeof value === 'boolean' ? value : undefined)
})

/** Codec of dec: a string, because JSON parsers read numbers as floats. An integer is accepted, too. */
export const DEC: Codec = plain({
  name: 'dec',
  decode(json) {
    const isWhole = typeof json === 'bigint' || (typeof json === 'number' && Number.isSafeInteger(json))
    const decimal = typeof json === 'string' || isWhole ? Decimal.parse(String(json)) : undefined
    return decimal ?? mismatch('dec as a string such as "12.50"', shownJson(json))
  },
  encode: value => (value instanceof Decimal ? value.toString() : wrong('dec', value)),
  accept: value =>
    value instanceof Decimal
      ? value
      : typeof value === 'string' || isInt(value)
        ? Decimal.parse(String(value))
        : undefined
})

export const UNIT: Codec = {
  name: 'Unit',
  isOptional: true,
  decode: json => (json === null || json === undefined ? null : mismatch('null', shownJson(json))),
  // The result of a function without a result type is not sent to the caller.
  encode: () => null,
  check: () => null
}

function isCharacter(value: unknown): value is string {
  return typeof value === 'string' && [...value].length === 1
}

/** Throws a mismatch for a value that does not have its declared type. */
export function wrong(expected: string, value: Value): never {
  return mismatch(expected, `${typeName(value)} ${excerpt(value)}`)
}
