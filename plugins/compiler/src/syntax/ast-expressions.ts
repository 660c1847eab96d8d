import type { Param } from './ast.ts'
import type { Block, Pattern, Statement } from './ast-statements.ts'
import type { Type } from './ast-types.ts'
import type { IndexedNode, Name, Node } from './node.ts'

export type Expression =
  | IntLiteral
  | FloatLiteral
  | DecimalLiteral
  | StringLiteral
  | BoolLiteral
  | UnitLiteral
  | Identifier
  | Paren
  | Tuple
  | List
  | ObjectLiteral
  | StructLiteral
  | Block
  | If
  | Match
  | For
  | Lambda
  | Spawn
  | SideEffect
  | Unary
  | Binary
  | With
  | Call
  | Member
  | TupleIndex
  | IndexAccess
  | Try
  | Element
  | ElementFragment
  | Missing

export interface IntLiteral extends IndexedNode<'Int'> {
  /** The digits as written; at most 2^63, which is valid only after a minus sign. */
  readonly digits: string
}

export interface FloatLiteral extends IndexedNode<'Float'> {
  readonly digits: string
}

/** `19.99dec`: the digits without `dec`. */
export interface DecimalLiteral extends IndexedNode<'Decimal'> {
  readonly digits: string
}

export interface StringLiteral extends IndexedNode<'String'> {
  /** The value, with escapes decoded. */
  readonly value: string
}

export interface BoolLiteral extends IndexedNode<'Bool'> {
  readonly value: boolean
}

/** The unit literal `()`. */
export interface UnitLiteral extends IndexedNode<'Unit'> {}

/** A name that is used as a value. It may be `_`, or begin with a capital letter. */
export interface Identifier extends IndexedNode<'Identifier'> {
  readonly name: string
}

/** An expression in parentheses. */
export interface Paren extends IndexedNode<'Paren'> {
  readonly inner: Expression
}

/** A tuple: `(a,)`, `(a, b)`. */
export interface Tuple extends IndexedNode<'Tuple'> {
  readonly items: readonly Expression[]
}

export interface List extends IndexedNode<'List'> {
  readonly items: readonly Expression[]
}

export interface ObjectLiteral extends IndexedNode<'Object'> {
  readonly entries: readonly ObjectEntry[]
}

/** An entry of an object. The id of the short form `{ a }` is that of the variable `a`. */
export interface ObjectEntry extends IndexedNode<'ObjectEntry'> {
  readonly key: Name | StringLiteral
  /** null for the short form `{ a }`. */
  readonly value: Expression | null
}

/** A struct literal: `Point { x: 1, y: 2 }`. */
export interface StructLiteral extends IndexedNode<'Struct'> {
  readonly name: Name
  readonly entries: readonly ObjectEntry[]
}

export interface If extends IndexedNode<'If'> {
  readonly condition: Expression
  readonly then: Block
  readonly else: Block | If | null
}

export interface Match extends IndexedNode<'Match'> {
  readonly subject: Expression
  readonly arms: readonly MatchArm[]
}

export interface MatchArm extends Node<'MatchArm'> {
  /** Several patterns for `a | b`. */
  readonly patterns: readonly Pattern[]
  readonly guard: Expression | null
  /** A statement if the arm is a `return`, `break`, `continue` or assignment. */
  readonly body: Expression | Statement
}

export interface For extends IndexedNode<'For'> {
  readonly binding: Pattern
  readonly index: Name | null
  readonly iterable: Expression
  readonly key: Expression | null
  readonly body: Expression
}

export interface Lambda extends IndexedNode<'Lambda'> {
  readonly form: 'fn' | 'arrow'
  /** True for `@cancellable fn(…) …`, a handler that ends when its component leaves the page. */
  readonly isCancellable: boolean
  readonly params: readonly Param[]
  readonly result: Type | null
  readonly body: Expression
}

export interface Spawn extends IndexedNode<'Spawn'> {
  readonly target: Expression
}

export interface SideEffect extends IndexedNode<'SideEffect'> {
  readonly body: Block
}

/** The operator `!` is parsed as `not`. */
export interface Unary extends IndexedNode<'Unary'> {
  readonly operator: 'not' | '-'
  readonly operand: Expression
}

export type BinaryOperator = '|>' | 'or' | 'and' | 'is' | 'isnt' | '<' | '>' | '<=' | '>=' | '+' | '-' | '*' | '/' | '%'

/** `==` is parsed as `is`, `!=` as `isnt`, `&&` as `and`, `||` as `or`. */
export interface Binary extends IndexedNode<'Binary'> {
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}

/** A call with options: `call with { retries: 3 }`. */
export interface With extends IndexedNode<'With'> {
  readonly operand: Expression
  readonly options: Expression
}

export interface Call extends IndexedNode<'Call'> {
  readonly callee: Expression
  readonly args: readonly Argument[]
}

export interface Argument extends Node<'Argument'> {
  readonly name: Name | null
  readonly value: Expression
}

export interface Member extends IndexedNode<'Member'> {
  readonly object: Expression
  readonly property: Name
}

/** Access to a tuple element: `pair.0`. */
export interface TupleIndex extends IndexedNode<'TupleIndex'> {
  readonly object: Expression
  readonly index: number
}

export interface IndexAccess extends IndexedNode<'IndexAccess'> {
  readonly object: Expression
  readonly index: Expression
}

/** The operator `?` after an expression. */
export interface Try extends IndexedNode<'Try'> {
  readonly operand: Expression
}

/** An element of a view: JSX, or a call with named arguments and a block of children. */
export interface Element extends IndexedNode<'Element'> {
  readonly syntax: 'jsx' | 'call'
  /** The tag as written, with dots and dashes. */
  readonly tag: Name
  readonly attributes: readonly Attribute[]
  /** null for `<a/>` and for a call without a block. */
  readonly children: readonly Expression[] | null
}

export interface Attribute extends Node<'Attribute'> {
  /** The name as written: `on:click`, `data-x`, `class`. In a call, without a leading `attr_`. */
  readonly name: Name
  /** null for an attribute without a value. */
  readonly value: Expression | null
}

/** A JSX fragment: `<>…</>`. */
export interface ElementFragment extends IndexedNode<'ElementFragment'> {
  readonly children: readonly Expression[]
}

/** Placeholder for a missing expression. Its error was reported, so checks ignore it. */
export interface Missing extends IndexedNode<'Missing'> {}
