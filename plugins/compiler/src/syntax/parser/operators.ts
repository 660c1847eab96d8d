import type { BinaryOperator } from '../ast-expressions.ts'
import { Kind } from '../token.ts'

export interface Operator {
  /** Precedence; operators of one level are left-associative. */
  readonly level: number
  /** `with` takes options and is no operation. */
  readonly operator: BinaryOperator | 'with'
}

/** Binary operators, by their sign. */
export const BINARY: Readonly<Record<BinaryOperator | 'with', number>> = {
  '|>': 1,
  or: 3,
  and: 5,
  with: 5,
  is: 7,
  isnt: 7,
  '<': 9,
  '>': 9,
  '<=': 9,
  '>=': 9,
  '+': 11,
  '-': 11,
  '*': 13,
  '/': 13,
  '%': 13
}

/** Precedence of the operand of unary `not` and `-`. */
export const PREFIX_LEVEL = 15

const byKind: (Operator | undefined)[] = []
for (const [kind, operator] of [
  [Kind.Pipe, '|>'],
  [Kind.Or, 'or'],
  [Kind.BarBar, 'or'],
  [Kind.And, 'and'],
  [Kind.AndAnd, 'and'],
  [Kind.With, 'with'],
  [Kind.Is, 'is'],
  [Kind.EqualEqual, 'is'],
  [Kind.Isnt, 'isnt'],
  [Kind.BangEqual, 'isnt'],
  [Kind.Less, '<'],
  [Kind.Greater, '>'],
  [Kind.LessEqual, '<='],
  [Kind.GreaterEqual, '>='],
  [Kind.Plus, '+'],
  [Kind.Minus, '-'],
  [Kind.Star, '*'],
  [Kind.Slash, '/'],
  [Kind.Percent, '%']
] as const) {
  byKind[kind] = { level: BINARY[operator], operator }
}

/** The binary operator of a token kind. */
export function operatorOf(kind: number): Operator | undefined {
  return byKind[kind]
}
