import { printJson } from '../wire/json-text.ts'
import { Decimal } from './decimal.ts'
import { Callable, Float, isList, isRecord, Json, Tagged, Tuple, type Value } from './value.ts'

/** Returns a value as text, for `str` and `print`. */
export function display(value: Value): string {
  if (typeof value === 'string') return value
  if (value === null) return 'null'
  if (typeof value !== 'object') return String(value)
  if (isList(value)) return `[${value.map(display).join(', ')}]`
  if (isRecord(value)) return `{${Array.from(value, ([key, each]) => `${key}: ${display(each)}`).join(', ')}}`
  if (value instanceof Float) return displayFloat(value.value)
  if (value instanceof Decimal) return value.toString()
  if (value instanceof Tuple) return `(${value.items.map(display).join(', ')})`
  if (value instanceof Json) return printJson(value.data)
  if (value instanceof Callable) return `fn ${value.name}`
  if (value instanceof Tagged) {
    return value.fields.length === 0 ? value.tag : `${value.tag}(${value.fields.map(display).join(', ')})`
  }
  return `<${value.type}>`
}

/** Returns the first characters of a value, for messages. */
export function excerpt(value: Value): string {
  const text = display(value)
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`
}

const MAX_SHOWN = 200

/** Writes a float without an exponent, as a literal of the language. */
function displayFloat(value: number): string {
  const text = String(value)
  const match = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text)
  if (match === null) return text
  const [, sign = '', whole = '', fraction = '', power] = match
  const exponent = Number(power)
  const digits = whole + fraction
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  return sign + digits.padEnd(exponent + 1, '0')
}
