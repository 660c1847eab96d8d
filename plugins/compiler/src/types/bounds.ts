import type { Span } from '../syntax/node.ts'
import type { Context } from './context.ts'
import { unwrapped } from './conversions.ts'
import { BOUND_TYPES, type Bound } from './natives/natives-contract.ts'
import { show } from './show.ts'
import type { Type } from './type.ts'

/** Compares a type parameter with the values that a native accepts for it, when its type is known. */
export function checkBound(context: Context, type: Type, bound: Bound, name: string, place: Span): void {
  context.when(
    type,
    place,
    known => {
      const value = unwrapped(known)
      if (value.kind === 'any' || value.kind === 'error' || value.kind === 'never') return
      if (bound === 'sized' && (value.kind === 'record' || value.kind === 'tuple')) return
      if (value.kind === 'named' && BOUND_TYPES[bound].has(value.def.name)) return
      if (value.kind === 'named' && bound === 'sized' && (value.def.fields !== null || value.def.kind === 'opaque'))
        return
      const wanted = { ordered: 'values that `<` compares', sized: 'a value with a length', duration: 'a duration' }
      context.report('typecheck.arg_mismatch', `\`${name}\` takes ${wanted[bound]}`, place, { foundType: show(value) })
    },
    false
  )
}
