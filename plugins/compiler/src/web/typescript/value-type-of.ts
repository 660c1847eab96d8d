import { type NamedType, resolved, type Type } from '../../types/type.ts'
import { ANY, type GenericName, NEVER, type PlainName, plain, type ValueType } from '../value-types/type.ts'

const PLAIN: Readonly<Record<string, PlainName>> = {
  int: 'int',
  float: 'float',
  str: 'str',
  bool: 'bool',
  char: 'char',
  dec: 'dec',
  Unit: 'Unit',
  Element: 'Element'
}

const GENERIC: Readonly<Record<string, GenericName>> = {
  List: 'List',
  Option: 'Option',
  Result: 'Result',
  Map: 'Map',
  Set: 'Set',
  Stream: 'Stream'
}

/** Returns a type of the type checker as far as a translation depends on it; `any` for type parameters. */
export function valueTypeOf(type: Type): ValueType {
  const known = resolved(type)
  switch (known.kind) {
    case 'named':
      return namedType(known)
    case 'fn':
      return {
        kind: 'function',
        params: known.params.map(param => valueTypeOf(param.type)),
        result: valueTypeOf(known.result)
      }
    case 'tuple':
      return { kind: 'tuple', items: known.items.map(valueTypeOf) }
    case 'record':
      return { kind: 'record', fields: new Map([...known.fields].map(([name, each]) => [name, valueTypeOf(each)])) }
    case 'answer':
      return { kind: 'dbResult', value: valueTypeOf(known.value) }
    case 'never':
      return NEVER
    default:
      return ANY
  }
}

function namedType({ def, args }: NamedType): ValueType {
  const { declaration, name } = def
  switch (declaration?.kind) {
    case 'Type':
      // Fields of a generic type depend on its arguments.
      return declaration.generics.length === 0 ? { kind: 'declared', declaration } : ANY
    case 'Table':
      return { kind: 'row', table: declaration }
    case 'Actor':
    case 'Agent':
      return { kind: 'actor', declaration }
  }
  const simple = Object.hasOwn(PLAIN, name) ? PLAIN[name] : undefined
  if (simple !== undefined) return plain(simple)
  const generic = Object.hasOwn(GENERIC, name) ? GENERIC[name] : undefined
  return generic === undefined ? ANY : { kind: 'generic', name: generic, args: args.map(valueTypeOf) }
}
