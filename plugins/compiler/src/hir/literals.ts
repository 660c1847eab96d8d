import type { Hir } from '@svc/contracts'
import type { LiteralPattern } from '../syntax/ast-statements.ts'
import type { TypeTable } from './type-table.ts'

/** Returns a number if it is exact, else a bigint. */
export function intOf(digits: string): number | bigint {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : BigInt(digits)
}

/** Lowers the literal of a pattern or of a rule, for a value of type `subject`. */
export function literalOf(
  { value, isNegative }: Pick<LiteralPattern, 'value' | 'isNegative'>,
  subject: Hir.Type,
  types: TypeTable,
  span: Hir.Span
): Hir.Literal {
  const sign = isNegative ? '-' : ''
  switch (value.kind) {
    case 'Int':
      // An int matches a float of the same value.
      if (subject.kind === 'named' && subject.name === 'float') {
        return { kind: 'Float', type: subject, value: Number(sign + value.digits), ...span }
      }
      return { kind: 'Int', type: types.named('int'), value: intOf(sign + value.digits), ...span }
    case 'Float':
      return { kind: 'Float', type: types.named('float'), value: Number(sign + value.digits), ...span }
    case 'Decimal':
      return { kind: 'Decimal', type: types.named('dec'), digits: sign + value.digits, ...span }
    case 'String':
      return { kind: 'Str', type: types.named('str'), value: value.value, ...span }
    case 'Bool':
      return { kind: 'Bool', type: types.named('bool'), value: value.value, ...span }
  }
}
