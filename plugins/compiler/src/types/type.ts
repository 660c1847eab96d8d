import type { Declaration, Field, Param } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'

/** The type of an expression. Call `resolved` before looking at `kind`: a variable may be linked to another type. */
export type Type =
  | VarType
  | NamedType
  | FnType
  | TupleType
  | RecordType
  | RigidType
  | AnswerType
  /** Of any type; only at the borders of the program. */
  | { readonly kind: 'any' }
  /** Type of expressions that never return: `return`, `panic`. */
  | { readonly kind: 'never' }
  /** The type of an expression with an error that was reported. It fits everywhere. */
  | { readonly kind: 'error' }

/** A type that inference has still to find. */
export interface VarType {
  readonly kind: 'var'
  /** The type that was found; null until then. */
  link: Type | null
  /** The expression or the parameter that needs the type. */
  origin: Span
  /**
   * True for a name without an annotation, whose values the program does not determine. Other variables stay unknown
   * only if there are no such values: the elements of `[]`, the value of `None`.
   */
  needsAnnotation: boolean
  /** True if an int literal gets the type: int, float or dec, whatever the other operands are. */
  isNumber: boolean
  /** Constraints that wait for the type, to be tried again when it is linked. */
  waiting: Deferred[] | null
}

/** A constraint on a variable. Returns true if it is settled. */
export type Deferred = () => boolean

export interface NamedType {
  readonly kind: 'named'
  readonly def: TypeDef
  readonly args: readonly Type[]
  readonly size: number
}

export interface ParamType {
  /** The name, for named arguments; null for a parameter of a function type. */
  readonly name: string | null
  readonly type: Type
  /** True if an argument may be omitted. */
  readonly isOptional: boolean
}

export interface FnType {
  readonly kind: 'fn'
  readonly params: readonly ParamType[]
  readonly result: Type
  readonly size: number
}

export interface TupleType {
  readonly kind: 'tuple'
  readonly items: readonly Type[]
  readonly size: number
}

/** The type of a record literal. */
export interface RecordType {
  readonly kind: 'record'
  readonly fields: ReadonlyMap<string, Type>
  readonly size: number
}

/** A type parameter inside its declaration. Parameters are compared by identity. */
export interface RigidType {
  readonly kind: 'rigid'
  readonly name: string
}

/** Result of a database operation: a `Result` if one is expected, else the value itself. */
export interface AnswerType {
  readonly kind: 'answer'
  readonly value: Type
  readonly size: number
}

/**
 * - `primitive`, `builtin`: types that every program has. `builtin` ones may have arguments.
 * - `struct`, `variants`, `row`: declared types with fields. The fields of a row begin with `_id`.
 * - `actor`: the handle of an actor or an agent.
 * - `machine`: a state of a state machine.
 * - `opaque`: a type whose parts are unknown: a name that is not declared, or the type of a host.
 */
export type TypeDefKind = 'primitive' | 'builtin' | 'struct' | 'variants' | 'row' | 'actor' | 'machine' | 'opaque'

export interface TypeDef {
  readonly kind: TypeDefKind
  readonly name: string
  readonly generics: readonly RigidType[]
  readonly declaration: Declaration | null
  /** Fields of structs, rows and builtin records, in the order of declaration; null for other types. */
  fields: ReadonlyMap<string, FieldType> | null
  /** For rows with selected columns only: the table. They count as rows of the table, but lack the other fields. */
  readonly base?: TypeDef
  /** Variants, or the states of a machine; null for other types. */
  variants: readonly VariantType[] | null
}

/** True for one type, and for rows of one table with different selected columns. */
export function isSameDef(a: TypeDef, b: TypeDef): boolean {
  return a === b || (a.base ?? a) === (b.base ?? b)
}

/** A field of a struct, a column, or a field of a variant. The type may contain the parameters of its definition. */
export interface FieldType {
  readonly name: string
  readonly type: Type
  /** True if a literal may omit it: it has a default, or is an Option. */
  readonly isOptional: boolean
  /** null for builtin fields. */
  readonly field: Field | Param | null
}

export interface VariantType {
  readonly name: string
  readonly def: TypeDef
  readonly fields: readonly FieldType[]
  /** True if the payload is written in braces. */
  readonly isRecord: boolean
  readonly span: Span | null
}

/** Larger types count as `any`: few lines suffice for a type with more parts than a computer has memory. */
const MAX_PARTS = 1_000

/** Name of the type of texts, which is also the type of an error. */
export const STR_NAME = 'str'

export const ANY: Type = { kind: 'any' }
export const NEVER: Type = { kind: 'never' }
export const ERROR: Type = { kind: 'error' }

export function newVar(origin: Span): VarType {
  return { kind: 'var', link: null, origin, needsAnnotation: false, isNumber: false, waiting: null }
}

/** The type of a parameter or a constant without an annotation. */
export function unannotated(name: Span): VarType {
  return { kind: 'var', link: null, origin: name, needsAnnotation: true, isNumber: false, waiting: null }
}

export function rigid(name: string): RigidType {
  return { kind: 'rigid', name }
}

export function named(def: TypeDef, args: readonly Type[] = NONE): Type {
  if (args.length === 0) {
    const known = withoutArguments.get(def)
    if (known !== undefined) return known
    const type: Type = { kind: 'named', def, args, size: 1 }
    withoutArguments.set(def, type)
    return type
  }
  const size = sizeOfAll(args)
  return size > MAX_PARTS ? ANY : { kind: 'named', def, args, size }
}

const NONE: readonly Type[] = []
const withoutArguments = new WeakMap<TypeDef, Type>()

export function fn(params: readonly ParamType[], result: Type): Type {
  let size = 1 + sizeOf(result)
  for (const { type } of params) size += sizeOf(type)
  return size > MAX_PARTS ? ANY : { kind: 'fn', params, result, size }
}

/** A parameter of a function type. */
export function param(type: Type): ParamType {
  return { name: null, type, isOptional: false }
}

export function tuple(items: readonly Type[]): Type {
  const size = sizeOfAll(items)
  return size > MAX_PARTS ? ANY : { kind: 'tuple', items, size }
}

export function record(fields: ReadonlyMap<string, Type>): Type {
  let size = 1
  for (const type of fields.values()) size += sizeOf(type)
  return size > MAX_PARTS ? ANY : { kind: 'record', fields, size }
}

export function answer(value: Type): Type {
  const inner = resolved(value)
  return inner.kind === 'answer' ? inner : { kind: 'answer', value: inner, size: sizeOf(inner) + 1 }
}

function sizeOfAll(types: readonly Type[]): number {
  let size = 1
  for (const type of types) size += sizeOf(type)
  return size
}

function sizeOf(type: Type): number {
  const inner = resolved(type)
  return 'size' in inner ? inner.size : 1
}

/** Returns the type to which a variable is linked, with path compression; other types are returned as they are. */
export function resolved(type: Type): Type {
  if (type.kind !== 'var' || type.link === null) return type
  let end: Type = type.link
  while (end.kind === 'var' && end.link !== null) end = end.link
  let at: Type = type
  while (at.kind === 'var' && at.link !== null && at.link !== end) {
    const next: Type = at.link
    at.link = end
    at = next
  }
  return end
}

/** Returns the types that a resolved type is written with. */
export function partsOf(type: Type): readonly Type[] {
  switch (type.kind) {
    case 'named':
      return type.args
    case 'tuple':
      return type.items
    case 'fn':
      return [...type.params.map(each => each.type), type.result]
    case 'record':
      return [...type.fields.values()]
    case 'answer':
      return [type.value]
    default:
      return []
  }
}
