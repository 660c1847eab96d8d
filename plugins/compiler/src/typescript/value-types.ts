import type { Hir, HirType } from '@svc/contracts'

export const ANY: Hir.Type = { kind: 'any' }

/** True for a type with one of these names, with any arguments. A row id is an int. */
export function isNamed(type: Hir.Type, ...names: readonly string[]): boolean {
  return type.kind === 'named' && names.includes(type.name === 'Id' ? 'int' : type.name)
}

export function isList(type: Hir.Type): boolean {
  return isNamed(type, 'List', 'Set', 'Stream', 'Tensor')
}

/** True for numbers, strings and booleans, which JavaScript compares like the language. */
export function isScalar(type: Hir.Type): boolean {
  return isNamed(type, 'int', 'float', 'str', 'char', 'bool')
}

/** Returns the element type of a list, an option, a result, a map or a string. */
export function itemOf(type: Hir.Type): Hir.Type {
  if (type.kind !== 'named') return ANY
  switch (type.name) {
    case 'str':
      return type
    case 'Tensor':
      return { kind: 'named', name: 'float', args: [] }
    case 'Map':
      return type.args[1] ?? ANY
    default:
      return type.args[0] ?? ANY
  }
}

/** Returns the type of the items of a `for` over a value. */
export function iteratedItemOf(type: Hir.Type): Hir.Type {
  if (isList(type) || isNamed(type, 'str')) return itemOf(type)
  if (type.kind === 'any') return type
  return { kind: 'tuple', items: [{ kind: 'named', name: 'str', args: [] }, isNamed(type, 'Map') ? itemOf(type) : ANY] }
}

/** Adds the types that the type parameters of `declared` have where it is used as `used`. Later types do not replace known ones. */
export function inferTypes(declared: Hir.Type, used: Hir.Type, known: Map<string, Hir.Type>): void {
  const all = (parts: readonly Hir.Type[], others: readonly Hir.Type[]): void => {
    for (const [index, part] of parts.entries()) inferTypes(part, others[index] ?? ANY, known)
  }
  switch (declared.kind) {
    case 'param':
      if ((known.get(declared.name) ?? ANY).kind === 'any') known.set(declared.name, used)
      return
    case 'named':
      if (used.kind === 'named') all(declared.args, used.args)
      return
    case 'tuple':
      if (used.kind === 'tuple') all(declared.items, used.items)
      return
    case 'fn':
      if (used.kind === 'fn') all([...declared.params, declared.result], [...used.params, used.result])
  }
}

/** True for a type that is known only where a function is called, or not at all. */
export function isUnknown({ kind }: Hir.Type): boolean {
  return kind === 'param' || kind === 'any'
}

function partsOf(type: Hir.Type): readonly Hir.Type[] {
  switch (type.kind) {
    case 'named':
      return type.args
    case 'tuple':
      return type.items
    case 'fn':
      return [...type.params, type.result]
    case 'record':
      return type.fields.map(([, each]) => each)
    default:
      return []
  }
}

export function hasParameter(type: Hir.Type): boolean {
  return type.kind === 'param' || partsOf(type).some(hasParameter)
}

/** True for a type with a part that is unknown. */
export function isOpen(type: Hir.Type): boolean {
  return isUnknown(type) || partsOf(type).some(isOpen)
}

export function depthOf(type: Hir.Type): number {
  return 1 + Math.max(0, ...partsOf(type).map(depthOf))
}

/** Converts a type to the form in which it is printed; null if a part is unknown. `unknown` is the form of such parts. */
export function printedType(
  type: Hir.Type,
  generics: ReadonlySet<string>,
  unknown: HirType | null = null
): HirType | null {
  switch (type.kind) {
    case 'unit':
      return 'Unit'
    case 'param':
      return generics.has(type.name) ? { Named: type.name } : unknown
    case 'tuple': {
      const items = all(type.items, generics, unknown)
      return items === null ? null : { Tuple: items }
    }
    case 'fn': {
      const params = all(type.params, generics, unknown)
      const result = printedType(type.result, generics, unknown)
      return params === null || result === null ? null : { Function: [params, result] }
    }
    case 'named': {
      const { name, args } = type
      if (name === 'dec') return 'Decimal'
      const isPlainResult = name === 'Result' && args[1]?.kind === 'any'
      const parts = all(isPlainResult ? args.slice(0, 1) : args, generics, unknown)
      if (parts === null) return null
      return parts.length === 0 ? { Named: name } : { Generic: [name, parts] }
    }
    default:
      return unknown
  }
}

function all(types: readonly Hir.Type[], generics: ReadonlySet<string>, unknown: HirType | null): HirType[] | null {
  const printed = types.map(type => printedType(type, generics, unknown))
  return printed.every(each => each !== null) ? printed : null
}
