import type { SqlParameter, SqlValue } from '@svc/contracts'
import type { TableColumn } from '../database/table-shape.ts'
import type { Value } from '../interpreter/value.ts'
import { Mismatch } from '../wire/mismatch.ts'
import { withDigits } from '../wire/with-digits.ts'

/** Characters or bytes beyond which a value is not read. */
export const MAX_CELL = 65_536

/**
 * JSON of a stored value: the form that the program sends to its clients. An integer beyond 2^53 is a text of digits. A
 * value that does not have the type of its column is `{ "$stored": … }`.
 */
export function cellJson(column: TableColumn, stored: SqlValue): unknown {
  try {
    return withDigits(column.document.encode(column.codec.decode(stored)))
  } catch (thrown) {
    if (!(thrown instanceof Mismatch)) throw thrown
    return { $stored: storedJson(stored) }
  }
}

/** JSON of any stored value, without loss. */
function storedJson(stored: SqlValue): unknown {
  if (typeof stored === 'bigint') return String(stored)
  if (typeof stored === 'number') return Number.isFinite(stored) ? stored : String(stored)
  return stored instanceof Uint8Array ? { $bytes: Buffer.from(stored).toString('base64') } : stored
}

/** Converts JSON of a client to a value to store. Throws a `Mismatch`. */
export function cellParameter(column: TableColumn, json: unknown): SqlParameter {
  return column.codec.encode(cellValue(column, json))
}

/** Converts JSON of a client to a value of the language. Throws a `Mismatch`. */
function cellValue(column: TableColumn, json: unknown): Value {
  const isInt = column.kind === 'int' || column.kind === 'id'
  return column.document.decode(isInt && typeof json === 'string' && DIGITS.test(json) ? intOf(json) : json)
}

/** Like {@link cellValue}, but also reads the text of a value, as in a filter that a person typed. */
export function filterValue(column: TableColumn, json: unknown): Value {
  if (typeof json !== 'string') return cellValue(column, json)
  if (column.kind === 'bool' && (json === 'true' || json === 'false')) return json === 'true'
  if (column.kind === 'float' && json.trim() !== '' && Number.isFinite(Number(json)))
    return cellValue(column, Number(json))
  if (column.kind === 'json') return cellValue(column, parsedOrText(json))
  return cellValue(column, json)
}

function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const DIGITS = /^-?\d{1,19}$/

/** Returns digits as a number within 2^53, else as a bigint. */
export function intOf(digits: string): number | bigint {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}

/** True if two values have the same JSON, regardless of the order of members. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((each, index) => isSameJson(each, b[index]))
    )
  }
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every(
      name =>
        Object.hasOwn(b, name) && isSameJson((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name])
    )
  )
}
