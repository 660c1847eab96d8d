import type { TypeReader } from '../value-types/read-type.ts'
import { ANY, type ValueType } from '../value-types/type.ts'

/** Returns the element type of a list, a map or a string. */
export function itemOf(type: ValueType): ValueType {
  if (type.kind === 'plain' && type.name === 'str') return type
  if (type.kind !== 'generic') return ANY
  return (type.name === 'Map' ? type.args[1] : type.args[0]) ?? ANY
}

export function fieldAt(type: ValueType, name: string, reader: TypeReader): ValueType {
  return reader.fieldsOf(type)?.get(name) ?? ANY
}

export function isPlain(type: ValueType, ...names: readonly string[]): boolean {
  return type.kind === 'plain' && names.includes(type.name)
}

export function isGeneric(type: ValueType, ...names: readonly string[]): boolean {
  return type.kind === 'generic' && names.includes(type.name)
}

/** True for numbers, strings and booleans, which JavaScript compares like the language. */
export function isScalar(type: ValueType): boolean {
  return isPlain(type, 'int', 'float', 'str', 'char', 'bool')
}
