import type { Pattern } from '../../syntax/ast-statements.ts'
import type { Signatures } from './signatures.ts'
import { ANY, generic, STR, type ValueType } from './type.ts'

/** Returns the names that a pattern binds, with their types for a matched value of type `type`. */
export function patternTypes(
  pattern: Pattern,
  type: ValueType,
  signatures: Signatures
): readonly (readonly [name: string, type: ValueType])[] {
  switch (pattern.kind) {
    case 'BindingPattern':
      return [[pattern.name.text, type]]
    case 'TuplePattern': {
      const items = type.kind === 'tuple' ? type.items : []
      return pattern.items.flatMap((item, index) => patternTypes(item, items[index] ?? ANY, signatures))
    }
    case 'ConstructorPattern': {
      const name = pattern.name.text
      return (pattern.args ?? []).flatMap((arg, index) =>
        patternTypes(arg, partOf(name, index, type, signatures), signatures)
      )
    }
    default:
      return []
  }
}

/** Returns the type of one field of a variant. */
function partOf(name: string, index: number, type: ValueType, { names, reader }: Signatures): ValueType {
  const entry = names.get(name)
  if (entry?.kind === 'constructor') return reader.read(entry.signature?.params[index]?.type ?? null)
  const isResult = name === 'Ok' || name === 'Error' || name === 'Err'
  const subject = type.kind === 'dbResult' ? (isResult ? generic('Result', type.value, STR) : type.value) : type
  if (subject.kind !== 'generic') return ANY
  if (name === 'Some' && subject.name === 'Option') return subject.args[0] ?? ANY
  if (!isResult || subject.name !== 'Result') return ANY
  return subject.args[name === 'Ok' ? 0 : 1] ?? ANY
}
