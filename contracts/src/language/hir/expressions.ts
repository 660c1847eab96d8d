import type { HirDbPlan } from '../hir-plan.ts'
import type { Type } from './types.ts'

/** Byte range in the UTF-8 source, `end` excluded. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A node of the code. It is also its span. */
interface Node<K extends string> extends Span {
  readonly kind: K
}

interface Value<K extends string> extends Node<K> {
  readonly type: Type
}

/** Index into `Body.locals`. */
export type LocalId = number

/** A parameter, a variable of a `let`, a pattern, a loop or a lambda, or `result` in a postcondition. */
export interface Local {
  readonly name: string
  readonly type: Type
  readonly isMutable: boolean
  /** True if a lambda uses it that does not declare it. */
  readonly isCaptured: boolean
}

/** Code of a function, with all variables of it and of the lambdas in it. */
export interface Body {
  readonly locals: readonly Local[]
  /** The parameters, in order. */
  readonly params: readonly LocalId[]
  /** Default of each parameter; null if an argument is required. It may read the parameters before. */
  readonly defaults: readonly (Expr | null)[]
  readonly block: Block
}

export type Expr =
  | Int
  | Float
  | Decimal
  | Str
  | Bool
  | Unit
  | Tuple
  | List
  | Record
  | MapLiteral
  | Struct
  | Variant
  | LocalRead
  | StateRead
  | ConstantRead
  | FunctionValue
  | NativeValue
  | ConstructorValue
  | RequestRead
  | Unresolved
  | Binary
  | Logical
  | Unary
  | Call
  | CallValue
  | CallNative
  | CallHandler
  | CallMethod
  | Field
  | Item
  | Index
  | Db
  | RawSql
  | Match
  | If
  | For
  | Lambda
  | Spawn
  | BlockValue
  | Try
  | SideEffect
  | Convert
  | Element
  | Fragment

/** A bigint beyond 2^53. */
export interface Int extends Value<'Int'> {
  readonly value: number | bigint
}

export interface Float extends Value<'Float'> {
  readonly value: number
}

export interface Decimal extends Value<'Decimal'> {
  readonly digits: string
}

export interface Str extends Value<'Str'> {
  readonly value: string
}

export interface Bool extends Value<'Bool'> {
  readonly value: boolean
}

export interface Unit extends Value<'Unit'> {}

export interface Tuple extends Value<'Tuple'> {
  readonly items: readonly Expr[]
}

export interface List extends Value<'List'> {
  readonly items: readonly Expr[]
}

export type NamedExpr = readonly [name: string, value: Expr]

/** A record without a declared type. */
export interface Record extends Value<'Record'> {
  readonly fields: readonly NamedExpr[]
}

/** A record literal where a Map is expected. */
export interface MapLiteral extends Value<'Map'> {
  readonly entries: readonly NamedExpr[]
}

/** A struct or a row with its written members in source order. Omitted members take their default, else `None`. */
export interface Struct extends Value<'Struct'> {
  readonly name: string
  readonly fields: readonly NamedExpr[]
}

/** A variant with its payload: `Some(x)`, `Error("…")`, `Circle { radius: 1 }`. */
export interface Variant extends Value<'Variant'> {
  readonly name: string
  /** In source order. */
  readonly args: readonly Expr[]
  /** For each argument, the index of its field. */
  readonly fields: readonly number[]
}

export interface LocalRead extends Value<'Local'> {
  readonly local: LocalId
}

/** A state field of the actor or agent whose handler or migration runs, or a parameter of its `spawn`. */
export interface StateRead extends Value<'State'> {
  readonly field: string
}

/** A constant of the module, by name. */
export interface ConstantRead extends Value<'Constant'> {
  readonly name: string
}

/** A function of the program as a value. */
export interface FunctionValue extends Value<'Function'> {
  readonly name: string
}

/** A native function or a value of a namespace, by its key in the table of natives: `print`, `std.math.pi`. */
export interface NativeValue extends Value<'Native'> {
  readonly native: string
}

/** A constructor as a function. */
export interface ConstructorValue extends Value<'Constructor'> {
  readonly name: string
}

/** The request of the call: `request`, where the program has no such name. */
export interface RequestRead extends Value<'Request'> {}

/** A name that only a host could supply: an import, or an undefined name outside of strict mode. Fails when read. */
export interface Unresolved extends Value<'Unresolved'> {
  readonly name: string
}

export type BinaryOperator = 'add' | 'sub' | 'mul' | 'div' | 'mod' | 'lt' | 'gt' | 'lte' | 'gte' | 'is' | 'isnt'

export interface Binary extends Value<'Binary'> {
  readonly operator: BinaryOperator
  readonly left: Expr
  readonly right: Expr
}

/** Evaluates `right` only if `left` does not decide. */
export interface Logical extends Value<'Logical'> {
  readonly operator: 'and' | 'or'
  readonly left: Expr
  readonly right: Expr
}

export interface Unary extends Value<'Unary'> {
  readonly operator: 'not' | 'neg'
  readonly operand: Expr
}

/** Arguments in source order, which is the order of evaluation, and options. */
export interface Arguments {
  readonly args: readonly Expr[]
  /** For each argument, the index of its parameter. Parameters without an argument take their default. */
  readonly params: readonly number[]
  /** The record after `with`, evaluated before the arguments. Of two members of one name, the last one counts. */
  readonly options: Expr | null
}

/** Call of a function, workflow or activity of the program. A piped value is the first argument. */
export interface Call extends Value<'Call'>, Arguments {
  readonly name: string
}

/** Call of a value. */
export interface CallValue extends Value<'CallValue'> {
  readonly callee: Expr
  /** In source order. */
  readonly args: readonly Expr[]
  /** For each argument, the index of its parameter. */
  readonly params: readonly number[]
}

/** Call of a native function or method, by its key in the table of natives: `std.fs.read`, `List.map`. */
export interface CallNative extends Value<'CallNative'> {
  readonly native: string
  /** The value whose method is called; null for a function. */
  readonly receiver: Expr | null
  readonly args: readonly Expr[]
  /** The record after `with`; evaluated before the arguments. */
  readonly options: Expr | null
}

/** Call of a handler of an actor or an agent, which waits for its result, or a message that does not. */
export interface CallHandler extends Value<'CallHandler'>, Arguments {
  readonly target: Expr
  readonly actor: string
  readonly event: string
  readonly isSend: boolean
}

/** Call of a method of a value whose methods are unknown: of type `any`, or of a type of the host. */
export interface CallMethod extends Value<'CallMethod'> {
  readonly receiver: Expr
  readonly method: string
  readonly args: readonly Expr[]
  /** Names of the arguments, which a handler of an actor may have; null if none has a name. */
  readonly names: readonly (string | null)[] | null
}

export interface Field extends Value<'Field'> {
  readonly object: Expr
  readonly name: string
}

/** An item of a tuple: `pair.0`. */
export interface Item extends Value<'Item'> {
  readonly object: Expr
  readonly index: number
}

/** An element of a list, a character of a str, a value of a map, a record, a tuple or JSON. */
export interface Index extends Value<'Index'> {
  readonly object: Expr
  readonly index: Expr
}

/** An operation on a table. */
export interface Db extends Value<'Db'> {
  readonly table: string
  readonly plan: HirDbPlan
  /** Values of the predicate in order, the id, or the record, as `plan.op` says. */
  readonly args: readonly DbArgument[]
  readonly limit: Expr | null
  readonly offset: Expr | null
  readonly page: { readonly size: Expr; readonly cursor: Expr | null } | null
  /** True if the value is the `Result` of the operation, false if a failure throws. */
  readonly keepsResult: boolean
}

export interface DbArgument {
  /** Column; null for the id or a record. */
  readonly name: string | null
  readonly value: Expr
}

/** `db.query("SELECT …", [values])`. */
export interface RawSql extends Value<'RawSql'> {
  readonly sql: Expr
  readonly values: Expr | null
  /** As of `Db`. */
  readonly keepsResult: boolean
}

export interface Match extends Value<'Match'> {
  readonly subject: Expr
  readonly arms: readonly MatchArm[]
}

export interface MatchArm extends Span {
  /** Several for `A | B`. */
  readonly patterns: readonly Pattern[]
  readonly guard: Expr | null
  readonly body: Expr
}

export interface If extends Value<'If'> {
  readonly condition: Expr
  readonly then: Block
  readonly otherwise: Block | null
}

/** The list of the values of the body. */
export interface For extends Value<'For'> {
  readonly binding: Pattern
  readonly index: LocalId | null
  readonly iterable: Expr
  /** Key of the element in a view. */
  readonly key: Expr | null
  readonly body: Expr
}

export interface Lambda extends Value<'Lambda'> {
  readonly params: readonly LocalId[]
  readonly defaults: readonly (Expr | null)[]
  /** True for `@cancellable fn`: it ends when its component leaves the page. */
  readonly isCancellable: boolean
  /** Variables of enclosing functions that it uses. */
  readonly captures: readonly LocalId[]
  readonly body: Expr
}

export interface Spawn extends Value<'Spawn'>, Arguments {
  readonly actor: string
}

/** A block with the value of its last statement. */
export interface BlockValue extends Value<'Block'> {
  readonly block: Block
}

/** The operator `?`. */
export interface Try extends Value<'Try'> {
  readonly operand: Expr
}

export interface SideEffect extends Value<'SideEffect'> {
  readonly block: Block
}

/**
 * - `float`: an int becomes a float.
 * - `struct`: a record or a row becomes the struct or row `type`, or those in a value do, at any depth. Members that
 *   the struct does not declare are kept.
 * - `unwrap`: the `Result` of a database operation, which a variable holds, becomes its value; a failure throws.
 * - `checked`: a value of type `any`, or with parts of type `any`, is checked to be a `type`, at any depth. Throws
 *   `RUN_TYPE` with the place, also for a member that a type does not declare.
 */
export interface Convert extends Value<'Convert'> {
  readonly conversion: 'float' | 'struct' | 'unwrap' | 'checked'
  readonly operand: Expr
}

/** An element of a view, or a use of a component. */
export interface Element extends Value<'Element'> {
  readonly tag: string
  /** True if it is written as a call: `panel(class="a") { … }`, `heading("Tasks")`. */
  readonly isCall: boolean
  readonly attributes: readonly Attribute[]
  /** null for an element without an end tag. */
  readonly children: readonly Expr[] | null
}

export interface Attribute extends Span {
  /** As written: `on:click`, `data-x`, `class`. In a call, without a leading `attr_`. */
  readonly name: string
  /** null for an attribute without a value. */
  readonly value: Expr | null
}

export interface Fragment extends Value<'Fragment'> {
  readonly children: readonly Expr[]
}

/** Statements; as an expression, with the value of the last one. */
export type Block = readonly Stmt[]

export type Stmt = Let | Update | Return | ExprStmt | While | Loop | Break | Continue

export interface Let extends Node<'Let'> {
  readonly pattern: Pattern
  readonly value: Expr
}

/** An assignment. Evaluates each index of the place once, from left to right, then the value. */
export interface Update extends Node<'Update'> {
  readonly place: Place
  /** null for `=`. */
  readonly operator: 'add' | 'sub' | 'mul' | 'div' | null
  readonly value: Expr
}

/** A variable, or a part of it: `xs[i].name`. */
export interface Place {
  readonly root: LocalId | { readonly state: string }
  readonly path: readonly ({ readonly field: string } | { readonly index: Expr })[]
  /** Type of the part. */
  readonly type: Type
}

export interface Return extends Node<'Return'> {
  readonly value: Expr | null
}

export interface ExprStmt extends Node<'Expr'> {
  readonly value: Expr
}

export interface While extends Node<'While'> {
  readonly condition: Expr
  readonly body: Block
}

export interface Loop extends Node<'Loop'> {
  readonly body: Block
}

export interface Break extends Node<'Break'> {}

export interface Continue extends Node<'Continue'> {}

export type Pattern =
  | Node<'Wildcard'>
  | (Node<'Bind'> & { readonly local: LocalId })
  | (Node<'Variant'> & { readonly name: string; readonly args: readonly Pattern[] })
  | (Node<'Tuple'> & { readonly items: readonly Pattern[] })
  | (Node<'Literal'> & { readonly value: Int | Float | Decimal | Str | Bool })
