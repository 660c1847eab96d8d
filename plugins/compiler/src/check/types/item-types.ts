import { ANY, type ValueType } from './type.ts'

export function isList(type: ValueType): boolean {
  return type.kind === 'dbResult' ? isList(type.value) : type.kind === 'generic' && type.name === 'List'
}

/** Returns the element type of a list, or the value type of a map. */
export function itemOf(type: ValueType): ValueType {
  if (type.kind === 'dbResult') return itemOf(type.value)
  if (type.kind !== 'generic') return ANY
  return (type.name === 'Map' ? type.args[1] : type.name === 'List' ? type.args[0] : undefined) ?? ANY
}
