import type { Hir } from '@svc/contracts'
import type { EmittedProgram } from './program.ts'
import { type PlaceRules, placesIn } from './type-places.ts'
import { itemOf } from './value-types.ts'

/** Parts that values in TypeScript do not show: tuples are arrays, options have no tag, the tag of an `Error` is `Err`. */
const HIDDEN: PlaceRules = {
  plain: () => null,
  tuple: items => ({ text: `{ tuple: [${items.map(item => item?.text ?? 'null').join(', ')}] }`, counts: true }),
  container(type, inside) {
    const inner = inside(itemOf(type))
    if (type.name === 'Option') return { text: `{ option: ${inner?.text ?? 'null'} }`, counts: true }
    if (type.name === 'Result') return { text: `{ result: ${inner?.text ?? 'null'} }`, counts: true }
    return inner && { ...inner, text: `{ ${type.name === 'Map' ? 'map' : 'list'}: ${inner.text} }` }
  }
}

/**
 * Returns the parts of a type that its values in TypeScript do not show, as the argument of the helper `text_of`; null if
 * there are no such parts.
 */
export function textShape(type: Hir.Type, program: EmittedProgram): string | null {
  return placesIn(type, program, HIDDEN)
}
