import type { Hir } from '@svc/contracts'
import { call, type TypeScriptCode } from './code.ts'
import type { Emitter } from './emitter.ts'
import { propertyKey } from './names.ts'
import type { EmittedProgram } from './program.ts'
import { isList, isNamed } from './value-types.ts'

/** Where the decimals of a value are. `holds` is false if the description only refers to a type around it. */
interface Described {
  readonly text: string
  readonly holds: boolean
}

/**
 * Returns the places of decimals in the values of a type, as the argument of the helper `plain_decimals`. null if there
 * are none: values are then compared by their content in TypeScript.
 */
export function decimalPlaces(type: Hir.Type, program: EmittedProgram): string | null {
  const found = described(type, program, [])
  return found?.holds === true ? found.text : null
}

/** Writes the decimals of a value so that equal ones are equal strings. */
export function withPlainDecimals(e: Emitter, value: TypeScriptCode, places: string): TypeScriptCode {
  return call(e.file.helper('plain_decimals'), value.doc, places)
}

/** `outer` holds the names of the types of records around this one, outermost first. */
function described(type: Hir.Type, program: EmittedProgram, outer: readonly string[]): Described | null {
  const within = (of: Hir.Type | undefined): Described | null =>
    of === undefined ? null : described(of, program, outer)
  switch (type.kind) {
    case 'tuple': {
      const items = type.items.map(within)
      const text = `{ tuple: [${items.map(each => each?.text ?? 'null').join(', ')}] }`
      return items.some(each => each !== null) ? { text, holds: items.some(each => each?.holds) } : null
    }
    case 'record':
      return members(type.fields, program, [...outer, ''])
    case 'named': {
      if (type.name === 'dec') return { text: "'dec'", holds: true }
      // In TypeScript, an option is its value or null.
      if (isNamed(type, 'Option')) return within(type.args[0])
      if (isNamed(type, 'Result')) {
        const [success, failure] = type.args.map(within)
        const cases = [success, failure].map((each, index) => labelled(index === 0 ? 'Ok' : 'Err', 'value', each))
        return joined(cases, 'cases')
      }
      const item = isNamed(type, 'Map') ? within(type.args[1]) : isList(type) ? within(type.args[0]) : null
      if (item !== null) return { ...item, text: `{ each: ${item.text} }` }
      return isNamed(type, 'Map') || isList(type) ? null : declared(type, program, outer)
    }
    default:
      return null
  }
}

function declared(
  type: Extract<Hir.Type, { kind: 'named' }>,
  program: EmittedProgram,
  outer: readonly string[]
): Described | null {
  const at = outer.indexOf(type.name)
  if (at >= 0) return { text: `{ up: ${outer.length - at} }`, holds: false }
  const inner = [...outer, type.name]
  const variants = program.variantsOf(type)
  if (variants === null) return members([...(program.fieldsOf(type) ?? [])], program, inner)
  const cases = variants.map(({ name, fields }) => {
    const found = entries(fields, program, inner)
    return found === null ? null : { ...found, text: `${propertyKey(name)}: ${found.text}` }
  })
  return joined(cases, 'cases')
}

type Fields = readonly (readonly [name: string, type: Hir.Type])[]

function members(fields: Fields, program: EmittedProgram, outer: readonly string[]): Described | null {
  const found = entries(fields, program, outer)
  return found === null ? null : { ...found, text: `{ fields: ${found.text} }` }
}

function entries(fields: Fields, program: EmittedProgram, outer: readonly string[]): Described | null {
  const found = fields.map(([name, type]) => {
    const inner = described(type, program, outer)
    return inner === null ? null : { ...inner, text: `${propertyKey(name)}: ${inner.text}` }
  })
  return joined(found, null)
}

function labelled(tag: string, member: string, inner: Described | null | undefined): Described | null {
  return inner === null || inner === undefined ? null : { ...inner, text: `${tag}: { ${member}: ${inner.text} }` }
}

function joined(parts: readonly (Described | null)[], label: string | null): Described | null {
  const present = parts.filter(part => part !== null)
  if (present.length === 0) return null
  const text = `{ ${present.map(part => part.text).join(', ')} }`
  return { text: label === null ? text : `{ ${label}: ${text} }`, holds: present.some(({ holds }) => holds) }
}
