import { allMultiples, isNumberAllowed, numberBounds } from './number-limits.ts'
import { excluded, type JsonType } from './schema-keywords.ts'
import type { Source } from './schema-sources.ts'

/** Maximum range of integers whose values are listed. */
const MAX_FINITE_RANGE = 64

/** Returns the values of a type; null if they are too many. */
export function valuesOf(type: JsonType, sources: readonly Source[]): readonly unknown[] | null {
  const { values } = excluded(sources)
  if (type === 'null') return values.includes(null) ? [] : [null]
  if (type === 'boolean') return [true, false].filter(value => !values.includes(value))
  if (type !== 'integer') return null
  const bounds = numberBounds(sources)
  const multiples = allMultiples(sources)
  const { minimum = Number.NaN, maximum = Number.NaN } = bounds
  const low = Math.ceil(bounds.exclusiveMinimum ?? minimum)
  const high = Math.floor(bounds.exclusiveMaximum ?? maximum)
  if (!(high - low <= MAX_FINITE_RANGE)) return null
  const all = Array.from({ length: Math.max(0, high - low + 1) }, (_, at) => low + at)
  return all.filter(value => isNumberAllowed(value, bounds, multiples))
}

/** Returns a text that is equal for equal values. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each
    return Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
