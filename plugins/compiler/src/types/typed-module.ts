import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Actor, Agent, Declaration, Derived, Field, Handler, Module, State, Transition } from '../syntax/ast.ts'
import type { Call, Element, Expression, Match, ObjectLiteral, Spawn } from '../syntax/ast-expressions.ts'
import type { Pattern } from '../syntax/ast-statements.ts'
import type { Span } from '../syntax/node.ts'
import type { DbChain } from './db/chain.ts'
import type { Effect } from './effect.ts'
import type { ModuleNames } from './module-names.ts'
import type { NativeSignature } from './natives/natives-contract.ts'
import type { FieldType, NamedType, Type, TypeDef } from './type.ts'

/** Conversion of a value at the place that takes it, beyond the text of the program. */
export type Conversion =
  /** An int becomes a float. */
  | { readonly kind: 'float' }
  /** A float or int literal becomes a decimal with exactly its digits. */
  | { readonly kind: 'decimal' }
  /** The value of a database operation is taken, then converted; a failure throws. */
  | { readonly kind: 'unwrap'; readonly inner: Conversion | null }
  /** The `Result` of a database operation is kept, then converted. */
  | { readonly kind: 'keep'; readonly inner: Conversion | null }
  /** The value of an `Ok` is taken; an Error ends the program. */
  | { readonly kind: 'success'; readonly type: Type }
  /** A record becomes a struct or a row. The members of a literal are converted one by one. */
  | { readonly kind: 'record'; readonly type: NamedType }
  /** The value is, or contains, records or rows that become structs, with all that is in them. */
  | { readonly kind: 'records'; readonly type: Type }
  /** A record literal becomes a Map. */
  | { readonly kind: 'map' }
  /** A value becomes `Some(value)`, after another conversion. */
  | { readonly kind: 'some'; readonly inner: Conversion | null }
  /** A value of type any, or with parts of type any, is checked when the program runs. */
  | { readonly kind: 'any'; readonly type: Type }

/** The callee of a call, and how its arguments meet the parameters. */
export interface ResolvedCall {
  readonly target:
    | { readonly kind: 'declaration'; readonly declaration: Declaration }
    | { readonly kind: 'constructor'; readonly def: TypeDef; readonly name: string }
    | { readonly kind: 'handler'; readonly declaration: Declaration; readonly handler: Handler }
    | { readonly kind: 'native'; readonly native: NativeSignature }
  /** For each argument, the index of its parameter; -1 if there is none. A piped value is the first argument. */
  readonly order: readonly number[]
  /** Indexes of the parameters that take their default. */
  readonly defaults: readonly number[]
  readonly typeArguments: readonly Type[]
}

/** A use in a declaration, in the order of its text: an effect or a call. A lambda's uses count where it is written. */
export type Use = { readonly node: Span } & (
  | { readonly kind: 'native'; readonly native: NativeSignature; readonly path: string }
  | { readonly kind: 'declaration'; readonly declaration: Declaration; readonly isCall: boolean }
  | { readonly kind: 'handler'; readonly declaration: Declaration; readonly handler: Handler }
  | { readonly kind: 'spawn'; readonly declaration: Declaration | null; readonly spawn: Spawn }
  /** The default of a field that a literal omits; the declaration is that of the type. */
  | { readonly kind: 'default'; readonly declaration: Declaration; readonly field: Field; readonly name: string }
  | {
      readonly kind: 'db'
      readonly call: Call
      readonly table: string
      readonly access: 'read' | 'write' | 'raw'
      readonly action: string
    }
  /** A member of a namespace of which nothing but the path is known. */
  | { readonly kind: 'host'; readonly path: string }
)

/** Code that uses something: a declaration, a handler in it, or the default of a field. */
export type UseOwner = Declaration | Handler | Field

export interface TypedMatch {
  readonly match: Match
  readonly item: Declaration
  readonly subject: Type
}

/** A module with the types of all its expressions. Side tables are indexed by the `id` of expressions and patterns. */
export interface TypedModule {
  readonly module: Module
  readonly names: ModuleNames
  readonly diagnostics: readonly Diagnostic[]
  typeOf(expression: Expression): Type
  typeOfPattern(pattern: Pattern): Type
  conversionOf(expression: Expression): Conversion | null
  callOf(call: Call): ResolvedCall | null
  /** The operation on a table of which this is the outermost call; null for other calls. */
  chainOf(call: Call): DbChain | null
  /** Effects of a declaration, with those of its callees. */
  effectsOf(declaration: Declaration): ReadonlySet<Effect>
  /** The call that an element with parentheses and names is; null for an element. */
  callOfElement(element: Element): Call | null
  /** The result type of a function, or the type of a constant: declared, or else inferred. */
  resultOf(declaration: Declaration): Type
  /** Types of the parameters of a declaration, or of a handler or a transition in it: declared, or else inferred. */
  paramTypes(declaration: Declaration, handler?: Handler | Transition): readonly Type[]
  /** The result type of a handler: declared, or else inferred. */
  handlerResult(declaration: Actor | Agent, handler: Handler): Type
  /** The type of a state or a derived value: declared, or else inferred. */
  memberType(member: State | Derived): Type
  /** The definition that a type name has in this module. */
  defOf(name: string): TypeDef | undefined
  /** Uses of each declaration; for a handler, or a field with a default, also by itself. */
  usesOf(owner: UseOwner): readonly Use[]
  readonly matches: readonly TypedMatch[]
  /** Names of the types of record literals that have no type name and omit members with a default. */
  readonly records: ReadonlyMap<ObjectLiteral, string>
  /** The type of a field, with the arguments of the type in place of its parameters. */
  fieldType(owner: Type, field: FieldType): Type
}

/** The state that a pass over a typed module reads. It runs after inference, so all variables are linked. */
export type TypedPass = (module: TypedModule, report: (diagnostic: Diagnostic) => void) => void
