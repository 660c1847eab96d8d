import { isDeepStrictEqual } from 'node:util'
import { Decimal } from './decimal.ts'
import { Float, isInt, isList, isRecord, Json, Tagged, Tuple, type Value } from './value.ts'

/** True if two values are structurally equal. An int and a float are compared as numbers. */
export function isEqual(a: Value, b: Value): boolean {
  if (a === b) return true
  if (a === null || b === null) return false
  if (typeof a !== 'object' || typeof b !== 'object') {
    if (a instanceof Float && isInt(b)) return a.value === Number(b) && (typeof b === 'number' || BigInt(a.value) === b)
    return b instanceof Float && isInt(a) ? isEqual(b, a) : false
  }
  if (isList(a)) return isList(b) && areEqual(a, b)
  if (isRecord(a)) {
    return isRecord(b) && a.size === b.size && Array.from(a).every(([key, value]) => hasEqual(b, key, value))
  }
  if (a instanceof Float) return b instanceof Float && a.value === b.value
  if (a instanceof Decimal) return b instanceof Decimal && a.compare(b) === 0
  if (a instanceof Tuple) return b instanceof Tuple && areEqual(a.items, b.items)
  if (a instanceof Tagged) return b instanceof Tagged && a.tag === b.tag && areEqual(a.fields, b.fields)
  return a instanceof Json && b instanceof Json && isDeepStrictEqual(a.data, b.data)
}

function hasEqual(record: ReadonlyMap<string, Value>, key: string, value: Value): boolean {
  const other = record.get(key)
  return other !== undefined && isEqual(value, other)
}

function areEqual(a: readonly Value[], b: readonly Value[]): boolean {
  return a.length === b.length && a.every((value, index) => isEqual(value, b[index] as Value))
}
