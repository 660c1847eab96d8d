import type { Actor, Agent, Table, TypeDeclaration } from '../../syntax/ast.ts'

/** The type of a value, as far as it is known. */
export type ValueType =
  /** Unknown, or of any type; fits everywhere. */
  | { readonly kind: 'any' }
  /** Type of expressions that never return: `return`, `panic`. */
  | { readonly kind: 'never' }
  | { readonly kind: 'plain'; readonly name: PlainName }
  | { readonly kind: 'generic'; readonly name: GenericName; readonly args: readonly ValueType[] }
  | { readonly kind: 'tuple'; readonly items: readonly ValueType[] }
  | { readonly kind: 'function'; readonly params: readonly ValueType[] | null; readonly result: ValueType }
  | { readonly kind: 'record'; readonly fields: ReadonlyMap<string, ValueType> }
  | { readonly kind: 'declared'; readonly declaration: TypeDeclaration }
  | { readonly kind: 'row'; readonly table: Table }
  | { readonly kind: 'actor'; readonly declaration: Actor | Agent }
  /** Result of a database operation: a `Result` if one is expected, else the value itself. */
  | { readonly kind: 'dbResult'; readonly value: ValueType }

export type PlainName = 'int' | 'float' | 'str' | 'bool' | 'char' | 'dec' | 'Unit' | 'Element'
export type GenericName = 'List' | 'Option' | 'Result' | 'Map' | 'Set' | 'Stream'

export const ANY: ValueType = { kind: 'any' }
export const NEVER: ValueType = { kind: 'never' }
export const plain = (name: PlainName): ValueType => ({ kind: 'plain', name })
export const generic = (name: GenericName, ...args: ValueType[]): ValueType => ({ kind: 'generic', name, args })
export const dbResult = (value: ValueType): ValueType => ({ kind: 'dbResult', value })

export const INT = plain('int')
export const FLOAT = plain('float')
export const STR = plain('str')
export const BOOL = plain('bool')
export const UNIT = plain('Unit')

/** True if a value of type `from` is accepted where `to` is expected. Unknown types fit. */
export function fits(from: ValueType, to: ValueType): boolean {
  if (from.kind === 'any' || to.kind === 'any' || from.kind === 'never' || to.kind === 'never') return true
  if (from.kind === 'dbResult') return fits(from.value, to) || fits(generic('Result', from.value), to)
  if (to.kind === 'dbResult') return fits(from, to.value) || fits(from, generic('Result', to.value))
  switch (to.kind) {
    case 'plain':
      return from.kind === 'plain' && plainFits(from.name, to.name)
    case 'generic':
      return genericFits(from, to)
    case 'tuple': {
      const { items } = to
      return (
        from.kind === 'tuple' &&
        from.items.length === items.length &&
        from.items.every((each, i) => fits(each, items[i] ?? ANY))
      )
    }
    case 'function':
      return from.kind === 'function' && fits(from.result, to.result)
    case 'record':
      return (
        from.kind === 'row' ||
        from.kind === 'declared' ||
        isMap(from) ||
        (from.kind === 'record' && fieldsFit(from, to))
      )
    case 'declared':
      return from.kind === 'declared'
        ? from.declaration === to.declaration
        : from.kind === 'record' || from.kind === 'row'
    case 'row':
      return from.kind === 'row' ? from.table === to.table : from.kind === 'record' || from.kind === 'declared'
    case 'actor':
      return from.kind === 'actor' && from.declaration === to.declaration
  }
}

function plainFits(from: PlainName, to: PlainName): boolean {
  if (from === to) return true
  if (from === 'int') return to === 'float'
  return (from === 'str' && to === 'char') || (from === 'char' && to === 'str')
}

function genericFits(from: ValueType, to: Extract<ValueType, { kind: 'generic' }>): boolean {
  if (to.name === 'Map' && (from.kind === 'record' || from.kind === 'row')) return true
  if (from.kind !== 'generic' || from.name !== to.name) return false
  return to.args.every((arg, index) => fits(from.args[index] ?? ANY, arg))
}

function isMap(type: ValueType): boolean {
  return type.kind === 'generic' && type.name === 'Map'
}

type Record = Extract<ValueType, { kind: 'record' }>

function fieldsFit(from: Record, to: Record): boolean {
  return [...to.fields].every(([name, type]) => fits(from.fields.get(name) ?? ANY, type))
}

/** Returns the common type of two branches; any if they differ. */
export function join(a: ValueType, b: ValueType): ValueType {
  if (a.kind === 'never') return b
  if (b.kind === 'never') return a
  if (a.kind === 'generic' && b.kind === 'generic' && a.name === b.name) {
    const args = Array.from({ length: Math.max(a.args.length, b.args.length) }, (_, index) =>
      known(a.args[index] ?? ANY, b.args[index] ?? ANY)
    )
    return generic(a.name, ...args)
  }
  return show(a) === show(b) ? a : ANY
}

/** Merges the known parts of two types: `Some(1)` and `None` become `Option[int]`. */
function known(a: ValueType, b: ValueType): ValueType {
  if (a.kind === 'any') return b
  return b.kind === 'any' ? a : join(a, b)
}

/** Formats a type for users. */
export function show(type: ValueType): string {
  switch (type.kind) {
    case 'any':
    case 'never':
      return type.kind
    case 'plain':
      return type.name
    case 'generic': {
      const args = type.name === 'Result' && type.args[1]?.kind === 'any' ? type.args.slice(0, 1) : type.args
      return `${type.name}[${args.map(show).join(', ')}]`
    }
    case 'tuple':
      return `(${type.items.map(show).join(', ')})`
    case 'function':
      return `fn(${(type.params ?? []).map(show).join(', ')}) to ${show(type.result)}`
    case 'record':
      return `{ ${[...type.fields].map(([name, inner]) => `${name}: ${show(inner)}`).join(', ')} }`
    case 'declared':
      return type.declaration.name.text
    case 'row':
      return type.table.name.text
    case 'actor':
      return type.declaration.name.text
    case 'dbResult':
      return show(type.value)
  }
}
