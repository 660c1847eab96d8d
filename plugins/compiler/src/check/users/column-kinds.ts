import type { Module, Table, Type } from '../../syntax/ast.ts'

/** Values that a column holds, as far as row rules and sign-up distinguish them. `other`: lists, records and vectors. */
export type ValueKind = 'str' | 'int' | 'float' | 'dec' | 'bool' | 'other'

export interface ColumnKind {
  readonly kind: ValueKind
  readonly isOptional: boolean
  /** True for `List[str]`. */
  readonly isStrList: boolean
}

const PLAIN: Readonly<Record<string, ValueKind>> = {
  str: 'str',
  char: 'str',
  int: 'int',
  Id: 'int',
  float: 'float',
  dec: 'dec',
  bool: 'bool'
}

/** Returns the kinds of the columns of a table by name, with `_id`. Aliases are resolved. */
export function columnKinds({ fields }: Table, module: Module): ReadonlyMap<string, ColumnKind> {
  const id: ColumnKind = { kind: 'int', isOptional: false, isStrList: false }
  return new Map([['_id', id], ...fields.map(({ name, type }) => [name.text, kindOf(type, module)] as const)])
}

/** True if a type is the row of a table. Aliases are resolved. */
export function isRowOf(type: Type, { name }: Table, module: Module): boolean {
  const found = resolved(type, module)
  return found.kind === 'NamedType' && nameOf(found) === name.text
}

function kindOf(declared: Type, module: Module): ColumnKind {
  const type = resolved(declared, module)
  const inner = optionalOf(type)
  if (inner !== null) return { ...kindOf(inner, module), isOptional: true }
  const kind = type.kind === 'DecimalType' ? 'dec' : type.kind === 'NamedType' ? PLAIN[nameOf(type)] : undefined
  return { kind: kind ?? 'other', isOptional: false, isStrList: isStrList(type, module) }
}

function isStrList(type: Type, module: Module): boolean {
  if (type.kind !== 'NamedType' || !/^[Ll]ist$/.test(nameOf(type))) return false
  const [item] = type.args
  if (item === undefined) return false
  const of = resolved(item, module)
  return of.kind === 'NamedType' && nameOf(of) === 'str'
}

function optionalOf(type: Type): Type | null {
  if (type.kind === 'OptionalType') return type.inner
  return type.kind === 'NamedType' && nameOf(type) === 'Option' ? (type.args[0] ?? null) : null
}

function resolved(type: Type, { items }: Module): Type {
  let found = type
  // The bound ends a cycle of aliases.
  for (let depth = 0; depth <= items.length; depth++) {
    if (found.kind !== 'NamedType') return found
    const name = nameOf(found)
    const alias = items.find(item => item.kind === 'Type' && item.name.text === name)
    if (alias?.kind !== 'Type' || alias.definition.form !== 'alias') return found
    found = alias.definition.type
  }
  return found
}

function nameOf({ path }: Extract<Type, { kind: 'NamedType' }>): string {
  return path.at(-1)?.text ?? ''
}
