import type { SqlParameter } from '@svc/contracts'
import { fail } from '../interpreter/failure.ts'
import { typeName } from '../interpreter/type-name.ts'
import { NONE, Tagged, type Value } from '../interpreter/value.ts'
import { mismatch } from '../wire/mismatch.ts'

/** Values that select a part of the rows; null for those that the program does not write. */
export interface QueryBounds {
  readonly limit: Value | null
  readonly offset: Value | null
  readonly size: Value | null
  readonly cursor: Value | null
}

export const NO_BOUNDS: QueryBounds = { limit: null, offset: null, size: null, cursor: null }

/** Returns the parameters of `LIMIT ? OFFSET ?`, without those of clauses that are not there. */
export function rangeParameters({ limit, offset }: QueryBounds): SqlParameter[] {
  const rows = limit === null ? null : countOf(limit, 'limit')
  if (offset === null) return rows === null ? [] : [rows]
  // SQLite has no OFFSET without LIMIT; a negative one is no limit.
  return [rows ?? -1, countOf(offset, 'offset')]
}

/** Returns the SQL of the range, in the form of {@link rangeParameters}. */
export function rangeSql(hasLimit: boolean, hasOffset: boolean): string {
  return hasOffset ? ' LIMIT ? OFFSET ?' : hasLimit ? ' LIMIT ?' : ''
}

/** Returns the number of rows of a page. Throws for a size below 1. */
export function pageSize(value: Value | null): number | bigint {
  const size = countOf(value ?? null, 'page size')
  return size < 1 ? fail('RUN_ARGUMENTS', 'a page size must be 1 or more, found 0') : size
}

/** Returns the text of a cursor; null for the first page. */
export function cursorOf(value: Value | null): string | null {
  const text = value instanceof Tagged && value.tag === 'Some' ? (value.fields[0] ?? null) : value
  if (text === null || text === NONE || (text instanceof Tagged && text.tag === 'None')) return null
  return typeof text === 'string' ? text : mismatch('a str as cursor', typeName(text))
}

function countOf(value: Value, what: string): number | bigint {
  if (typeof value !== 'number' && typeof value !== 'bigint') return mismatch(`an int as ${what}`, typeName(value))
  return value < 0 ? fail('RUN_ARGUMENTS', `a ${what} must be 0 or more, found ${value}`) : value
}
