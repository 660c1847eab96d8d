import type { HirType } from '@svc/contracts'
import { ID, RESULT, STR } from './builtin-types.ts'
import { resolved, type Type } from './type.ts'

/** Converts a type to its form in the IR document; null if a part is unknown. */
export function hirType(type: Type): HirType | null {
  const known = resolved(type)
  switch (known.kind) {
    case 'named': {
      const { def, args } = known
      if (def.name === 'Unit') return 'Unit'
      if (def.name === 'dec') return 'Decimal'
      // A row id is an int.
      if (def === ID) return { Named: 'int' }
      if (def.kind === 'actor' || def.kind === 'machine') return null
      if (args.length === 0) return { Named: def.name }
      const parts = all(def === RESULT && isPlainError(args[1]) ? args.slice(0, 1) : args)
      return parts === null ? null : { Generic: [def.name, parts] }
    }
    case 'tuple': {
      const items = all(known.items)
      return items === null ? null : { Tuple: items }
    }
    case 'fn': {
      const params = all(known.params.map(each => each.type))
      const result = hirType(known.result)
      return params === null || result === null ? null : { Function: [params, result] }
    }
    case 'answer':
      return hirType(known.value)
    default:
      return null
  }
}

/** The error of a Result is a `str` if nothing else is written. */
function isPlainError(type: Type | undefined): boolean {
  if (type === undefined) return true
  const known = resolved(type)
  return known === STR || known.kind === 'any'
}

function all(types: readonly Type[]): HirType[] | null {
  const read = types.map(hirType)
  return read.every(each => each !== null) ? read : null
}
