import type { Hir } from '@svc/contracts'
import { propertyKey } from './names.ts'
import type { EmittedProgram } from './program.ts'
import { isList, isNamed, itemOf } from './value-types.ts'

/** Description of a type in TypeScript. `hides` is false if it only refers to a type around it. */
interface Described {
  readonly text: string
  readonly hides: boolean
}

/**
 * Returns the parts of a type that its values in TypeScript do not show, as the argument of the helper `text_of`:
 * tuples are arrays, options have no tag, and the tag of an `Error` is `Err`. null if there are no such parts.
 */
export function textShape(type: Hir.Type, program: EmittedProgram): string | null {
  const found = described(type, program, [])
  return found?.hides === true ? found.text : null
}

/** `outer` holds the names of the types of records around this one, outermost first. */
function described(type: Hir.Type, program: EmittedProgram, outer: readonly string[]): Described | null {
  switch (type.kind) {
    case 'tuple': {
      const items = type.items.map(item => described(item, program, outer)?.text ?? 'null')
      return { text: `{ tuple: [${items.join(', ')}] }`, hides: true }
    }
    case 'record':
      return fieldsOf(type.fields, program, [...outer, ''], 'fields')
    case 'named': {
      if (!isList(type) && !isNamed(type, 'Map', 'Option', 'Result')) return declared(type, program, outer)
      const inner = described(itemOf(type), program, outer)
      if (type.name === 'Option') return { text: `{ option: ${inner?.text ?? 'null'} }`, hides: true }
      if (type.name === 'Result') return { text: `{ result: ${inner?.text ?? 'null'} }`, hides: true }
      if (inner === null) return null
      return { ...inner, text: type.name === 'Map' ? `{ map: ${inner.text} }` : `{ list: ${inner.text} }` }
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
  if (at >= 0) return { text: `{ up: ${outer.length - at} }`, hides: false }
  const within = [...outer, type.name]
  const variants = program.variantsOf(type)
  if (variants === null) return fieldsOf([...(program.fieldsOf(type) ?? [])], program, within, 'fields')
  const cases = variants.flatMap(({ name, fields }) => {
    const found = fieldsOf(fields, program, within, null)
    return found === null ? [] : [{ ...found, text: `${propertyKey(name)}: ${found.text}` }]
  })
  return joined(cases, 'cases')
}

function fieldsOf(
  fields: readonly (readonly [name: string, type: Hir.Type])[],
  program: EmittedProgram,
  outer: readonly string[],
  label: 'fields' | null
): Described | null {
  const entries = fields.flatMap(([name, type]) => {
    const found = described(type, program, outer)
    return found === null ? [] : [{ ...found, text: `${propertyKey(name)}: ${found.text}` }]
  })
  return joined(entries, label)
}

function joined(entries: readonly Described[], label: string | null): Described | null {
  if (entries.length === 0) return null
  const text = `{ ${entries.map(each => each.text).join(', ')} }`
  return { text: label === null ? text : `{ ${label}: ${text} }`, hides: entries.some(({ hides }) => hides) }
}
