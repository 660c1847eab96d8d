import { Decimal } from '../interpreter/decimal.ts'
import {
  Callable,
  error,
  Float,
  isInt,
  isList,
  isRecord,
  Json,
  ok,
  Tagged,
  Tuple,
  type Value
} from '../interpreter/value.ts'
import type { Codec } from './codec.ts'
import { written } from './compound-codecs.ts'
import { inPart, mismatch } from './mismatch.ts'
import { DEC, FLOAT, wrong } from './plain-codecs.ts'

/**
 * Returns the codec of values without a declared type. JSON objects become records, unless `constructorOf` knows
 * their `_tag`.
 */
export function untypedCodec(constructorOf: (tag: string) => Codec | undefined): Codec {
  const codec: Codec = {
    name: 'any',
    isOptional: false,
    decode(json) {
      if (json === undefined) return mismatch('a value', 'nothing')
      if (json === null) return null
      if (typeof json === 'string' || typeof json === 'boolean') return json
      if (typeof json === 'bigint') return BigInt.asIntN(64, json) === json ? json : new Float(Number(json))
      if (typeof json === 'number') return Number.isSafeInteger(json) ? json : new Float(json)
      if (Array.isArray(json)) return json.map(codec.decode)
      return objectValue(json as Record<string, unknown>, codec, constructorOf)
    },
    encode(value) {
      if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
      if (isInt(value)) return value
      // A number beyond the ints is written as it was read.
      if (value instanceof Float) return Math.abs(value.value) < 2 ** 63 ? FLOAT.encode(value) : finite(value)
      if (value instanceof Decimal) return DEC.encode(value)
      if (value instanceof Json) return value.data
      if (isList(value)) return listJson(value, codec)
      if (value instanceof Tuple) return listJson(value.items, codec)
      if (isRecord(value)) return written(value, () => codec)
      if (value instanceof Tagged) return taggedJson(value, codec)
      return wrong(value instanceof Callable ? 'a value that JSON can represent' : 'a value', value)
    },
    check: value => value
  }
  return codec
}

function listJson(list: readonly Value[], codec: Codec): unknown[] {
  return list.map((each, index) => {
    try {
      return codec.encode(each)
    } catch (thrown) {
      throw inPart(thrown, index)
    }
  })
}

function objectValue(
  json: Record<string, unknown>,
  codec: Codec,
  constructorOf: (tag: string) => Codec | undefined
): Value {
  const { _tag: tag } = json
  if (typeof tag === 'string' && Object.hasOwn(json, '_tag')) {
    if (tag === 'Ok' || tag === 'Err') return (tag === 'Ok' ? ok : error)(codec.decode(json.value))
    const known = constructorOf(tag)
    if (known !== undefined) return known.decode(json)
  }
  return new Map(Object.entries(json).map(([key, each]) => [key, codec.decode(each)]))
}

function taggedJson({ tag, fields, names }: Tagged, codec: Codec): unknown {
  const [first = null] = fields
  if (tag === 'None') return null
  if (tag === 'Some') return codec.encode(first)
  if (tag === 'Ok') return { _tag: 'Ok', value: codec.encode(first) }
  if (tag === 'Error') return { _tag: 'Err', value: codec.encode(first) }
  const members = fields.map((each, index) => [names[index] ?? String(index), codec.encode(each)] as const)
  return { _tag: tag, ...Object.fromEntries(members) }
}

function finite({ value }: Float): number {
  return Number.isFinite(value) ? value : mismatch('a float that JSON can represent', `${value}`)
}

const UNTYPED = untypedCodec(() => undefined)

/** Codec of `Json`, which is passed through unchanged. */
export const JSON_VALUE: Codec = {
  name: 'Json',
  isOptional: false,
  decode: json => (json === undefined ? mismatch('Json', 'nothing') : new Json(withoutBigints(json))),
  encode: value => (value instanceof Json ? value.data : wrong('Json', value)),
  check: value => (value instanceof Json ? value : new Json(UNTYPED.encode(value)))
}

/** Converts bigints to numbers: numbers in a `Json` have JavaScript's precision. */
function withoutBigints(json: unknown): unknown {
  if (typeof json === 'bigint') return Number(json)
  if (Array.isArray(json)) return json.map(withoutBigints)
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(Object.entries(json).map(([key, each]) => [key, withoutBigints(each)]))
}
