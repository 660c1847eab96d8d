import { propertyKey } from '../../typescript/names.ts'
import type { TypeReader } from '../value-types/read-type.ts'
import type { ValueType } from '../value-types/type.ts'

/** Description of a type in TypeScript. `hides` is false if it only refers to a type around it. */
interface Described {
  readonly text: string
  readonly hides: boolean
}

/**
 * Returns the parts of a type that its values in TypeScript do not show, as the argument of the helper `text_of`:
 * tuples are arrays, options have no tag, and the tag of an `Error` is `Err`. null if there are no such parts.
 */
export function textShape(type: ValueType, reader: TypeReader): string | null {
  const found = described(type, reader, [])
  return found?.hides === true ? found.text : null
}

/** `outer` holds the types of records around this one, outermost first. */
function described(type: ValueType, reader: TypeReader, outer: readonly object[]): Described | null {
  switch (type.kind) {
    case 'tuple': {
      const items = type.items.map(item => described(item, reader, outer)?.text ?? 'null')
      return { text: `{ tuple: [${items.join(', ')}] }`, hides: true }
    }
    case 'generic': {
      const inner = described(type.args[type.name === 'Map' ? 1 : 0] ?? { kind: 'any' }, reader, outer)
      if (type.name === 'Option') return { text: `{ option: ${inner?.text ?? 'null'} }`, hides: true }
      if (type.name === 'Result') return { text: `{ result: ${inner?.text ?? 'null'} }`, hides: true }
      if (inner === null) return null
      return { ...inner, text: type.name === 'Map' ? `{ map: ${inner.text} }` : `{ list: ${inner.text} }` }
    }
    case 'record':
    case 'row':
      return fieldsOf([...(reader.fieldsOf(type) ?? [])], reader, [...outer, type], 'fields')
    case 'declared': {
      const { declaration } = type
      const at = outer.indexOf(declaration)
      if (at >= 0) return { text: `{ up: ${outer.length - at} }`, hides: false }
      const within = [...outer, declaration]
      const { definition } = declaration
      if (definition.form !== 'variants') {
        return fieldsOf([...(reader.fieldsOf(type) ?? [])], reader, within, 'fields')
      }
      const cases = definition.variants.flatMap(({ name, fields }) => {
        const read = fields.map(field => [field.name.text, reader.read(field.type)] as const)
        const found = fieldsOf(read, reader, within, null)
        return found === null ? [] : [{ ...found, text: `${propertyKey(name.text)}: ${found.text}` }]
      })
      return joined(cases, 'cases')
    }
    default:
      return null
  }
}

function fieldsOf(
  fields: readonly (readonly [name: string, type: ValueType])[],
  reader: TypeReader,
  outer: readonly object[],
  label: 'fields' | null
): Described | null {
  const entries = fields.flatMap(([name, type]) => {
    const found = described(type, reader, outer)
    return found === null ? [] : [{ ...found, text: `${propertyKey(name)}: ${found.text}` }]
  })
  return joined(entries, label)
}

function joined(entries: readonly Described[], label: string | null): Described | null {
  if (entries.length === 0) return null
  const text = `{ ${entries.map(each => each.text).join(', ')} }`
  return { text: label === null ? text : `{ ${label}: ${text} }`, hides: entries.some(({ hides }) => hides) }
}
