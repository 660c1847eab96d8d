import type { BinaryOperator } from '../ast-expressions.ts'
import { Kind } from '../token.ts'

export interface Operator {
  /** Precedence. Operators of one level are left-associative. */
  readonly level: number
  /** `with` is not an operator, but has options as its right side. */
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

/** Precedence level of the operand of `not` and `-`. */
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

/** Returns the binary operator of a token kind. */
export function operatorOf(kind: number): Operator | undefined {
  return byKind[kind]
}
