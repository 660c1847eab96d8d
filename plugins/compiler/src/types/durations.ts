import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Expression, StringLiteral } from '../syntax/ast-expressions.ts'
import { bare } from '../syntax/entries.ts'
import type { Span } from '../syntax/node.ts'

const DURATION = /^\d+(ms|s|m|h|d)$/

/** Common spellings of each unit. */
const UNITS: Readonly<Record<string, RegExp>> = {
  ms: /^(ms|msecs?|millis|milliseconds?)$/i,
  s: /^(s|secs?|seconds?)$/i,
  m: /^(m|mins?|minutes?)$/i,
  h: /^(h|hrs?|hours?)$/i,
  d: /^(d|days?)$/i
}

/** Explains durations to users. */
export const DURATION_HELP = 'a duration is a number with a unit (`ms`, `s`, `m`, `h` or `d`), such as "500ms" or "5m"'

/** Checks `value` if it is a literal. `label` names the value in messages. */
export function durationProblems(label: string, value: Expression): Diagnostic[] {
  const literal = bare(value)
  if (literal.kind === 'Unary' && literal.operator === '-' && bare(literal.operand).kind === 'Int') {
    return [wrongDuration(`${label} is negative`, value)]
  }
  if (literal.kind !== 'String' || DURATION.test(literal.value)) return []
  return [wrongDuration(`${label} is "${literal.value}", which is not a duration`, literal, suggestedDuration(literal))]
}

/** Creates a finding about a value that is no duration. */
export function wrongDuration(message: string, at: Span, replacement: string | null = null): Diagnostic {
  const fixes = replacement === null ? [] : [{ label: `write ${replacement}`, span: at, replacement }]
  return diagnostic('typecheck.duration', message, at, { suggestions: [DURATION_HELP], fixes })
}

/** Returns the literal for a common spelling: `"5m"` for `"5 minutes"`; null if the unit is unknown. */
function suggestedDuration({ value }: StringLiteral): string | null {
  const [, number = '', word = ''] = /^\s*(\d+)\s*([a-z]+)\s*$/i.exec(value) ?? []
  const unit = Object.keys(UNITS).find(each => UNITS[each]?.test(word))
  return unit === undefined ? null : `"${number}${unit}"`
}
