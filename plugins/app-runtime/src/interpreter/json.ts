import { fail } from './failure.ts'
import { Float, Json, type Value } from './value.ts'

/** Converts JSON to a value of the language. Arrays and objects stay JSON. */
export function jsonValue(data: unknown, isBody = false): Value {
  if (data === null || data === undefined) return null
  if (typeof data === 'string' || typeof data === 'boolean') return data
  if (typeof data === 'number') return Number.isSafeInteger(data) ? data : new Float(data)
  if (typeof data === 'bigint') return BigInt.asIntN(64, data) === data ? data : new Float(Number(data))
  return new Json(data, isBody)
}

export function jsonMember({ data, isBody }: Json, key: string, at = -1): Value {
  if (isObject(data) && Object.hasOwn(data, key)) return jsonValue(data[key], isBody)
  return isBody ? fail('RUN_BODY', `the body has no ${key}`, at) : fail('RUN_INDEX', `the JSON has no ${key}`, at)
}

export function isObject(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}
