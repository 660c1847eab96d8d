import type {
  BoolLiteral,
  DecimalLiteral,
  Expression,
  FloatLiteral,
  IntLiteral,
  StringLiteral
} from './ast-expressions.ts'
import type { Type } from './ast-types.ts'
import type { IndexedNode, Name, Node } from './node.ts'

/**
 * A block of statements; as an expression, it has the value of its last statement. It has no braces if it is a single
 * assignment as the body of a lambda, `for`, `effect` or `on mount`.
 */
export interface Block extends IndexedNode<'Block'> {
  readonly statements: readonly Statement[]
}

export type Statement = Let | Assign | ExpressionStatement | Return | While | Loop | Break | Continue

export interface Let extends Node<'Let'> {
  /** `const` is valid only outside functions. */
  readonly form: 'let' | 'const'
  readonly isMutable: boolean
  readonly pattern: Pattern
  readonly type: Type | null
  readonly value: Expression
}

export interface Assign extends Node<'Assign'> {
  readonly target: Expression
  readonly operator: '=' | '+=' | '-=' | '*=' | '/='
  readonly value: Expression
}

export interface ExpressionStatement extends Node<'ExpressionStatement'> {
  readonly expression: Expression
}

export interface Return extends Node<'Return'> {
  readonly value: Expression | null
}

export interface While extends Node<'While'> {
  readonly condition: Expression
  readonly body: Block
}

export interface Loop extends Node<'Loop'> {
  readonly body: Block
}

export interface Break extends Node<'Break'> {}

export interface Continue extends Node<'Continue'> {}

export type Pattern = WildcardPattern | BindingPattern | ConstructorPattern | TuplePattern | LiteralPattern

export interface WildcardPattern extends IndexedNode<'WildcardPattern'> {}

export interface BindingPattern extends IndexedNode<'BindingPattern'> {
  readonly name: Name
}

/** A constructor pattern: `Some(x)`, `None`. */
export interface ConstructorPattern extends IndexedNode<'ConstructorPattern'> {
  readonly name: Name
  /** null if there are no parentheses. */
  readonly args: readonly Pattern[] | null
}

export interface TuplePattern extends IndexedNode<'TuplePattern'> {
  readonly items: readonly Pattern[]
}

export interface LiteralPattern extends IndexedNode<'LiteralPattern'> {
  readonly isNegative: boolean
  readonly value: IntLiteral | FloatLiteral | DecimalLiteral | StringLiteral | BoolLiteral
}
