import type { Hir } from '@svc/contracts'
import { literal, propertyKey } from './names.ts'
import type { EmittedProgram } from './program.ts'
import { isList } from './value-types.ts'

/** Types whose values the helper `checked` knows. Of others, any value is accepted. */
const PLAIN: Readonly<Record<string, string>> = {
  int: 'int',
  Id: 'int',
  float: 'float',
  str: 'str',
  char: 'str',
  bool: 'bool',
  dec: 'dec'
}

/** Returns a type as the argument of the helper `checked`. */
export function typeShape(type: Hir.Type, program: EmittedProgram, outer: readonly string[] = []): string {
  const inner = (each: Hir.Type | undefined): string => (each === undefined ? "'any'" : typeShape(each, program, outer))
  switch (type.kind) {
    case 'unit':
      return "'unit'"
    case 'tuple':
      return `{ tuple: [${type.items.map(inner).join(', ')}] }`
    case 'record':
      return `{ fields: ${fieldsShape(type.fields, program, [...outer, ''])} }`
    case 'named': {
      const { name, args } = type
      const plain = Object.hasOwn(PLAIN, name) ? PLAIN[name] : undefined
      if (plain !== undefined) return literal(plain)
      if (isList(type)) return `{ list: ${name === 'Tensor' ? "'float'" : inner(args[0])} }`
      if (name === 'Map') return `{ map: ${inner(args[1])} }`
      if (name === 'Option') return `{ option: ${inner(args[0])} }`
      if (name === 'Result') return `{ result: [${inner(args[0])}, ${inner(args[1])}] }`
      return declaredShape(type, program, outer)
    }
    default:
      return "'any'"
  }
}

function declaredShape(
  type: Extract<Hir.Type, { kind: 'named' }>,
  program: EmittedProgram,
  outer: readonly string[]
): string {
  const at = outer.indexOf(type.name)
  if (at >= 0) return `{ up: ${outer.length - at} }`
  const within = [...outer, type.name]
  const variants = program.variantsOf(type)
  if (variants !== null) {
    const cases = variants.map(({ name, fields }) => `${propertyKey(name)}: ${fieldsShape(fields, program, within)}`)
    return `{ cases: { ${cases.join(', ')} } }`
  }
  const fields = program.fieldsOf(type)
  return fields === null ? "'any'" : `{ fields: ${fieldsShape([...fields], program, within)} }`
}

function fieldsShape(
  fields: readonly (readonly [name: string, type: Hir.Type])[],
  program: EmittedProgram,
  outer: readonly string[]
): string {
  if (fields.length === 0) return '{}'
  return `{ ${fields.map(([name, type]) => `${propertyKey(name)}: ${typeShape(type, program, outer)}`).join(', ')} }`
}
