import type { Param } from './ast.ts'
import type { Block, Pattern, Statement } from './ast-statements.ts'
import type { Type } from './ast-types.ts'
import type { Name, Node } from './node.ts'

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

export interface IntLiteral extends Node<'Int'> {
  /** The digits as written; at most 2^63, which is valid only after a minus sign. */
  readonly digits: string
}

export interface FloatLiteral extends Node<'Float'> {
  readonly digits: string
}

/** `19.99dec`: the digits without `dec`. */
export interface DecimalLiteral extends Node<'Decimal'> {
  readonly digits: string
}

export interface StringLiteral extends Node<'String'> {
  /** The value, with escapes decoded. */
  readonly value: string
}

export interface BoolLiteral extends Node<'Bool'> {
  readonly value: boolean
}

/** The unit literal `()`. */
export interface UnitLiteral extends Node<'Unit'> {}

/** A name that is used as a value. It may be `_`, or begin with a capital letter. */
export interface Identifier extends Node<'Identifier'> {
  readonly name: string
}

/** An expression in parentheses. */
export interface Paren extends Node<'Paren'> {
  readonly inner: Expression
}

/** A tuple: `(a,)`, `(a, b)`. */
export interface Tuple extends Node<'Tuple'> {
  readonly items: readonly Expression[]
}

export interface List extends Node<'List'> {
  readonly items: readonly Expression[]
}

export interface ObjectLiteral extends Node<'Object'> {
  readonly entries: readonly ObjectEntry[]
}

export interface ObjectEntry extends Node<'ObjectEntry'> {
  readonly key: Name | StringLiteral
  /** null for the short form `{ a }`. */
  readonly value: Expression | null
}

/** A struct literal: `Point { x: 1, y: 2 }`. */
export interface StructLiteral extends Node<'Struct'> {
  readonly name: Name
  readonly entries: readonly ObjectEntry[]
}

export interface If extends Node<'If'> {
  readonly condition: Expression
  readonly then: Block
  readonly else: Block | If | null
}

export interface Match extends Node<'Match'> {
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

export interface For extends Node<'For'> {
  readonly binding: Pattern
  readonly index: Name | null
  readonly iterable: Expression
  readonly key: Expression | null
  readonly body: Expression
}

export interface Lambda extends Node<'Lambda'> {
  readonly form: 'fn' | 'arrow'
  readonly params: readonly Param[]
  readonly result: Type | null
  readonly body: Expression
}

export interface Spawn extends Node<'Spawn'> {
  readonly target: Expression
}

export interface SideEffect extends Node<'SideEffect'> {
  readonly body: Block
}

/** The operator `!` is parsed as `not`. */
export interface Unary extends Node<'Unary'> {
  readonly operator: 'not' | '-'
  readonly operand: Expression
}

export type BinaryOperator = '|>' | 'or' | 'and' | 'is' | 'isnt' | '<' | '>' | '<=' | '>=' | '+' | '-' | '*' | '/' | '%'

/** `==` is parsed as `is`, `!=` as `isnt`, `&&` as `and`, `||` as `or`. */
export interface Binary extends Node<'Binary'> {
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}

/** A call with options: `call with { retries: 3 }`. */
export interface With extends Node<'With'> {
  readonly operand: Expression
  readonly options: Expression
}

export interface Call extends Node<'Call'> {
  readonly callee: Expression
  readonly args: readonly Argument[]
}

export interface Argument extends Node<'Argument'> {
  readonly name: Name | null
  readonly value: Expression
}

export interface Member extends Node<'Member'> {
  readonly object: Expression
  readonly property: Name
}

/** Access to a tuple element: `pair.0`. */
export interface TupleIndex extends Node<'TupleIndex'> {
  readonly object: Expression
  readonly index: number
}

export interface IndexAccess extends Node<'IndexAccess'> {
  readonly object: Expression
  readonly index: Expression
}

/** The operator `?` after an expression. */
export interface Try extends Node<'Try'> {
  readonly operand: Expression
}

/** An element of a view: JSX, or a call with named arguments and a block of children. */
export interface Element extends Node<'Element'> {
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
export interface ElementFragment extends Node<'ElementFragment'> {
  readonly children: readonly Expression[]
}

/** Placeholder for a missing expression. Its error was reported, so checks ignore it. */
export interface Missing extends Node<'Missing'> {}
