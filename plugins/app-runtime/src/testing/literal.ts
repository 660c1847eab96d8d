import { Decimal } from '../interpreter/decimal.ts'
import { display } from '../interpreter/display.ts'
import { Float, isList, isRecord, Tagged, Tuple, type Value } from '../interpreter/value.ts'

/** Writes a value as source code of the language. */
export function literal(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value === null) return 'Unit'
  if (isList(value)) return `[${value.map(literal).join(', ')}]`
  if (isRecord(value)) {
    const entries = Array.from(
      value,
      ([key, each]) => `${/^[a-z_]\w*$/.test(key) ? key : literal(key)}: ${literal(each)}`
    )
    return `{ ${entries.join(', ')} }`
  }
  if (value instanceof Tuple) return `(${value.items.map(literal).join(', ')})`
  if (value instanceof Decimal) return `${value}dec`
  if (value instanceof Float) return Number.isInteger(value.value) ? `${display(value)}.0` : display(value)
  if (value instanceof Tagged && value.fields.length > 0) return `${value.tag}(${value.fields.map(literal).join(', ')})`
  return display(value)
}
