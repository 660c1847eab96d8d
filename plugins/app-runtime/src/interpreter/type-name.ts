import { Decimal } from './decimal.ts'
import { Callable, Float, isInt, isList, isRecord, Json, Tagged, Tuple, type Value } from './value.ts'

/** Returns the result of `type_of`. Constructors of the program are named by their tag. */
export function typeName(value: Value): string {
  if (value === null) return 'null'
  if (isInt(value)) return 'int'
  if (typeof value === 'string') return 'str'
  if (typeof value === 'boolean') return 'bool'
  if (isList(value)) return 'List'
  if (isRecord(value)) return 'Object'
  if (value instanceof Float) return 'float'
  if (value instanceof Decimal) return 'dec'
  if (value instanceof Tuple) return 'Tuple'
  if (value instanceof Callable) return 'fn'
  if (value instanceof Json) return 'Json'
  if (value instanceof Tagged) {
    if (value.tag === 'Some' || value.tag === 'None') return 'Option'
    return value.tag === 'Ok' || value.tag === 'Error' ? 'Result' : value.tag
  }
  return value.type
}
