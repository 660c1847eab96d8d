import { Decimal } from './decimal.ts'
import { fail } from './failure.ts'
import { typeName } from './type-name.ts'
import { Float, isList, isRecord, Json, NONE, Tagged, Tuple, type Value } from './value.ts'

/** A value of the language for what JSON says: lists and objects stay JSON. */
export function jsonValue(data: unknown): Value {
  if (data === null || data === undefined) return null
  if (typeof data === 'string' || typeof data === 'boolean') return data
  if (typeof data === 'number') return Number.isSafeInteger(data) ? data : new Float(data)
  return new Json(data)
}

export function jsonMember({ data }: Json, key: string, at = -1): Value {
  if (isObject(data) && Object.hasOwn(data, key)) return jsonValue(data[key])
  return fail('RUN_INDEX', `the JSON has no ${key}`, at)
}

export function isObject(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}

/** Ints beyond 2^53 become texts, as decimals do. Throws `RUN_TYPE` for functions. */
export function toJson(value: Value): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number')
    return value
  if (typeof value === 'bigint') return String(value)
  if (isList(value)) return value.map(toJson)
  if (isRecord(value)) return objectOf(value)
  if (value instanceof Float) return Number.isFinite(value.value) ? value.value : null
  if (value instanceof Decimal) return value.toString()
  if (value instanceof Tuple) return value.items.map(toJson)
  if (value instanceof Json) return value.data
  if (value === NONE) return null
  if (value instanceof Tagged) {
    const [first = null] = value.fields
    if (value.tag === 'Some' || value.tag === 'Ok') return toJson(first)
    if (value.tag === 'Error') return { error: toJson(first) }
    if (value.fields.length === 0) return value.tag
    return { tag: value.tag, fields: value.fields.map(toJson) }
  }
  return fail('RUN_TYPE', `${typeName(value)} cannot be written as JSON`)
}

function objectOf(record: ReadonlyMap<string, Value>): object {
  // Without a prototype, no key has a meaning of its own.
  const object: Record<string, unknown> = Object.create(null)
  for (const [key, value] of record) object[key] = toJson(value)
  return object
}
