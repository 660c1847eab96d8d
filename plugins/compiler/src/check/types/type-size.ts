import { ANY, type ValueType } from './type.ts'

/** Larger types of values count as unknown: few lines suffice for a type with more parts than a computer has memory. */
const MAX_PARTS = 1_000

const counts = new WeakMap<ValueType, number>()

/** Returns the type, or `any` if it has more than 1,000 parts. Parts that occur several times count several times. */
export function limited(type: ValueType): ValueType {
  return partCount(type) > MAX_PARTS ? ANY : type
}

function partCount(type: ValueType): number {
  const parts = partsOf(type)
  if (parts.length === 0) return 1
  const known = counts.get(type)
  if (known !== undefined) return known
  const count = parts.reduce((sum, part) => sum + partCount(part), 1)
  counts.set(type, count)
  return count
}

function partsOf(type: ValueType): readonly ValueType[] {
  switch (type.kind) {
    case 'generic':
      return type.args
    case 'tuple':
      return type.items
    case 'function':
      return [...(type.params ?? []), type.result]
    case 'record':
      return [...type.fields.values()]
    case 'dbResult':
      return [type.value]
    default:
      return []
  }
}
