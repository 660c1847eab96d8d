import { display } from './display.ts'
import { fail } from './failure.ts'
import { isInt, type Value } from './value.ts'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses a duration to milliseconds: an int, or a str such as `500ms` or `2s`. */
export function durationOf(value: Value): number {
  if (typeof value === 'number' && value >= 0) return value
  const match = typeof value === 'string' ? /^(\d+)(ms|s|m|h|d)$/.exec(value) : null
  const unit = UNITS[match?.[2] ?? '']
  if (match === null || unit === undefined) {
    const code = typeof value === 'string' || isInt(value) ? 'RUN_ARGUMENTS' : 'RUN_TYPE'
    return fail(code, `a duration must be an int of milliseconds or a str such as "2s", found ${display(value)}`)
  }
  return Number(match[1]) * unit
}
