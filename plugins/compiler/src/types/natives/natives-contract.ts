import type { Effect } from '../effect.ts'
import type { ParamType, RigidType, Type, TypeDef } from '../type.ts'

/** A function, a constructor or a method that every program has, as read from the table of natives. */
export interface NativeSignature {
  /** `len`, `Some`, `std.fs.read`; for methods `List.map`. */
  readonly path: string
  /** Parameters of the receiver's type first, then those of the method. */
  readonly generics: readonly RigidType[]
  /** The type of the receiver: `List[T]`; null for functions. */
  readonly receiver: Type | null
  /** A type parameter of an omitted argument is `Unit`: `Ok()`. */
  readonly params: readonly ParamType[]
  /** True if the last parameter takes any number of arguments: `print(…)`. */
  readonly isVariadic: boolean
  readonly result: Type
  readonly effects: readonly Effect[]
  /** The values that a type parameter accepts, for parameters that do not accept all. */
  readonly bounds: ReadonlyMap<RigidType, Bound>
  /** One or two sentences for the editor. */
  readonly text: string
  /** The signature in the language's own syntax, for the editor. */
  readonly source: string
}

/**
 * - `ordered`: values that `<` compares: `sort`.
 * - `sized`: values that have a length: `len`.
 * - `duration`: an int of milliseconds, or a str such as `2s`: `sleep`.
 */
export type Bound = 'ordered' | 'sized' | 'duration'

/** Names of the builtin types that a bound accepts, in addition to `any`. `sized` also accepts records and tuples. */
export const BOUND_TYPES: Readonly<Record<Bound, ReadonlySet<string>>> = {
  ordered: new Set(['int', 'float', 'dec', 'str', 'char', 'Id']),
  sized: new Set(['str', 'char', 'List', 'Set', 'Map', 'Json', 'JsonBody']),
  duration: new Set(['int', 'str'])
}

/** A value that every program has: `None`, `Unit`, `null`. */
export interface NativeValue {
  readonly path: string
  readonly generics: readonly RigidType[]
  readonly type: Type
  /** True for a field that a literal may omit. */
  readonly isOptional: boolean
  readonly text: string
  readonly source: string
}

export type NativeMember = NativeSignature | NativeValue

export function isNativeFunction(member: NativeMember): member is NativeSignature {
  return 'params' in member
}

/** The table of natives. Namespaces are read when they are first needed. */
export interface Natives {
  /** A global function, constructor or value: `len`, `Some`, `None`. */
  global(name: string): NativeMember | undefined
  /** Names of all globals and of the root namespaces. */
  globalNames(): readonly string[]
  /**
   * Members of a namespace by name: `std.fs`, `Browser`. Undefined if there is no such namespace. A host may add
   * namespaces below `std`.
   */
  namespace(path: string): ReadonlyMap<string, NativeMember> | undefined
  /** True for `std`, `mobile`, `fs`, …: names that begin the path of a namespace. */
  isRoot(name: string): boolean
  /** Paths of all namespaces. */
  namespaces(): readonly string[]
  /** A method of a builtin type. */
  method(def: TypeDef, name: string): NativeSignature | undefined
  /** Methods and fields of a builtin type, by name; null for a type that the table does not know. */
  members(def: TypeDef): ReadonlyMap<string, NativeMember> | null
  /** Names of the methods of a type; null for a type whose methods are unknown. */
  methodNames(def: TypeDef): readonly string[] | null
  /** A type that only natives have: `Regex`, `Json`, `FileInfo`. */
  type(name: string): TypeDef | undefined
  typeNames(): readonly string[]
}
