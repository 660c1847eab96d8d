import type { Hir } from '@svc/contracts'
import { call, type TypeScriptCode } from './code.ts'
import type { Emitter } from './emitter.ts'
import type { EmittedProgram } from './program.ts'
import { joined, type PlaceRules, type Places, placesIn } from './type-places.ts'
import { itemOf } from './value-types.ts'

const DECIMALS: PlaceRules = {
  plain: ({ name }) => (name === 'dec' ? { text: "'dec'", counts: true } : null),
  tuple(items) {
    if (items.every(item => item === null)) return null
    const text = `{ tuple: [${items.map(item => item?.text ?? 'null').join(', ')}] }`
    return { text, counts: items.some(item => item?.counts) }
  },
  container(type, inside) {
    // In TypeScript, an option is its value or null.
    if (type.name === 'Option') return inside(type.args[0])
    if (type.name === 'Result') {
      const value = (part: Hir.Type | undefined): Places | null => joined([['value', inside(part)]], null)
      return joined(
        [
          ['Ok', value(type.args[0])],
          ['Err', value(type.args[1])]
        ],
        'cases'
      )
    }
    const item = inside(itemOf(type))
    return item && { ...item, text: `{ each: ${item.text} }` }
  }
}

/**
 * Returns the places of decimals in the values of a type, as the argument of the helper `plain_decimals`. null if there
 * are none: values are then compared by their content in TypeScript.
 */
export function decimalPlaces(type: Hir.Type, program: EmittedProgram): string | null {
  return placesIn(type, program, DECIMALS)
}

/** Writes the decimals of a value so that equal ones are equal strings. */
export function withPlainDecimals(e: Emitter, value: TypeScriptCode, places: string): TypeScriptCode {
  return call(e.file.helper('plain_decimals'), value.doc, places)
}
