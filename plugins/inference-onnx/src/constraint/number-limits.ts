import { spendSteps } from './compile-limits.ts'
import { isWithin, type NumberBounds } from './decimal.ts'
import { isMultiple, type Multiples, multiplesOf } from './multiples.ts'
import { limit } from './schema-keywords.ts'
import { pointer, type Source } from './schema-sources.ts'
import { unsupported } from './unsupported.ts'

export function numberBounds(sources: readonly Source[]): NumberBounds {
  return {
    minimum: limit(sources, 'minimum', Math.max),
    maximum: limit(sources, 'maximum', Math.min),
    exclusiveMinimum: limit(sources, 'exclusiveMinimum', Math.max),
    exclusiveMaximum: limit(sources, 'exclusiveMaximum', Math.min)
  }
}

/** Returns the multiples that all sources allow; null without `multipleOf`. */
export function allMultiples(sources: readonly Source[]): Multiples | null {
  const stated = sources.filter(({ schema }) => schema.multipleOf !== undefined)
  spendSteps(stated.length * 20)
  try {
    return multiplesOf(stated.map(({ schema }) => schema.multipleOf as number))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw unsupported(pointer(stated[0]?.path ?? '#', 'multipleOf'), error.message)
  }
}

export function isNumberAllowed(value: number, bounds: NumberBounds, multiples: Multiples | null): boolean {
  return isWithin(value, bounds) && (multiples === null || isMultiple(value, multiples))
}
