import type { HirType } from '../../hir/hir.ts'
import type { ValueType } from './type.ts'

/** Converts a type to its form in the IR document; null if a part is unknown. */
export function hirType(type: ValueType): HirType | null {
  switch (type.kind) {
    case 'plain':
      if (type.name === 'Unit') return 'Unit'
      return type.name === 'dec' ? 'Decimal' : { Named: type.name }
    case 'generic': {
      const isPlainResult = type.name === 'Result' && type.args[1]?.kind === 'any'
      const args = all(isPlainResult ? type.args.slice(0, 1) : type.args)
      return args === null ? null : { Generic: [type.name, args] }
    }
    case 'tuple': {
      const items = all(type.items)
      return items === null ? null : { Tuple: items }
    }
    case 'function': {
      const params = all(type.params ?? [])
      const result = hirType(type.result)
      return type.params === null || params === null || result === null ? null : { Function: [params, result] }
    }
    case 'declared':
      return { Named: type.declaration.name.text }
    case 'row':
      return { Named: type.table.name.text }
    case 'dbResult':
      return hirType(type.value)
    default:
      return null
  }
}

function all(types: readonly ValueType[]): HirType[] | null {
  const read = types.map(hirType)
  return read.every(each => each !== null) ? read : null
}
