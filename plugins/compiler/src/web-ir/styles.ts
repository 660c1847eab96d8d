import type { Hir } from '@svc/contracts'
import type { LengthUnit, StyleNode, StyleValue } from './web-ir.ts'

const UNITS: Readonly<Record<string, LengthUnit>> = {
  px: 'Px',
  rem: 'Rem',
  em: 'Em',
  '%': 'Percent',
  vw: 'Vw',
  vh: 'Vh'
}

const COLORS: ReadonlySet<string> = new Set(
  (
    'black silver gray white maroon red purple fuchsia green lime olive yellow navy blue teal aqua orange transparent ' +
    'currentcolor brown coral crimson cyan gold indigo ivory khaki lavender magenta orchid pink plum salmon tan tomato ' +
    'turquoise violet wheat beige chocolate rebeccapurple'
  ).split(' ')
)

/** Returns a rule of a `style` block. */
export function styleNode({ className, isRaw, declarations }: Hir.StyleRule): StyleNode {
  return {
    Rule: {
      selector: { Class: className },
      declarations: declarations.map(([name, value]) => [
        cssProperty(name),
        isRaw ? { Raw: value } : styleValue(value)
      ]),
      specificity: [0, 1, 0],
      span: null
    }
  }
}

/** Converts a property name to CSS: `max_width` and `maxWidth` become `max-width`. */
export function cssProperty(name: string): string {
  if (name.startsWith('--')) return name
  return name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`).replaceAll('_', '-')
}

/** Returns the typed value of a declaration, as far as its kind is known. */
function styleValue(text: string): StyleValue {
  const value = text.trim()
  if (/^#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(value)) return { Color: { Hex: value } }
  const variable = /^var\((--[\w-]+)\)$/.exec(value)?.[1]
  if (variable !== undefined) return /colou?r/.test(variable) ? { Color: { Var: variable } } : { TokenRef: variable }
  const [, number, unit] = /^(-?\d+(?:\.\d+)?|-?\.\d+)(px|rem|em|%|vw|vh)?$/.exec(value) ?? []
  if (number !== undefined) {
    return unit === undefined ? { Number: Number(number) } : { Length: [Number(number), UNITS[unit] as LengthUnit] }
  }
  if (COLORS.has(value.toLowerCase())) return { Color: { Named: value } }
  return /^[a-z][a-z-]*$/i.test(value) ? { Keyword: value } : { Raw: text }
}
