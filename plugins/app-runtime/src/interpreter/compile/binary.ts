import type { HirBinaryOperator, HirExpression, HirSpan } from '@svc/contracts'
import { isEqual } from '../equality.ts'
import type { Eval } from '../machine.ts'
import { add, arithmetic, compare, truth } from '../operators.ts'
import { Float } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'

const MAX_EXACT = Number.MAX_SAFE_INTEGER

/** Compiles a binary operator with fast paths for numbers; `operators.ts` handles the rest. */
export function compileBinary(
  body: BodyCompiler,
  [operator, first, second, { start: at }]: readonly [HirBinaryOperator, HirExpression, HirExpression, HirSpan]
): Eval {
  return binaryOf(body, operator, body.value(first), body.value(second), at)
}

/** Returns an operator on operands that are already compiled. */
export function binaryOf(
  { machine }: BodyCompiler,
  operator: HirBinaryOperator,
  left: Eval,
  right: Eval,
  at: number
): Eval {
  switch (operator) {
    case 'Add':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number') {
          const sum = a + b
          if (sum <= MAX_EXACT && sum >= -MAX_EXACT) return sum
        }
        if (a instanceof Float && b instanceof Float) return new Float(a.value + b.value)
        const sum = add(a, b, at)
        if (typeof sum === 'string' || Array.isArray(sum)) machine.allocate(sum.length * 8, at)
        return sum
      }
    case 'Sub':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number') {
          const difference = a - b
          if (difference <= MAX_EXACT && difference >= -MAX_EXACT) return difference
        }
        if (a instanceof Float && b instanceof Float) return new Float(a.value - b.value)
        return arithmetic('-', a, b, at)
      }
    case 'Mul':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number') {
          const product = a * b
          // Adding 0 turns -0 into 0.
          if (product <= MAX_EXACT && product >= -MAX_EXACT) return product + 0
        }
        if (a instanceof Float && b instanceof Float) return new Float(a.value * b.value)
        return arithmetic('*', a, b, at)
      }
    case 'Div':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number' && b !== 0) return exactQuotient(a, b)
        return arithmetic('/', a, b, at)
      }
    case 'Mod':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number' && b !== 0) return (a % b) + 0
        return arithmetic('%', a, b, at)
      }
    case 'Lt':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return typeof a === 'number' && typeof b === 'number' ? a < b : compare(a, b, at) < 0
      }
    case 'Gt':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return typeof a === 'number' && typeof b === 'number' ? a > b : compare(a, b, at) > 0
      }
    case 'Lte':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return typeof a === 'number' && typeof b === 'number' ? a <= b : compare(a, b, at) <= 0
      }
    case 'Gte':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return typeof a === 'number' && typeof b === 'number' ? a >= b : compare(a, b, at) >= 0
      }
    case 'Is':
      return frame => isEqual(left(frame), right(frame))
    case 'Isnt':
      return frame => !isEqual(left(frame), right(frame))
    case 'And':
      return frame => truth(left(frame), at) && truth(right(frame), at)
    case 'Or':
      return frame => truth(left(frame), at) || truth(right(frame), at)
  }
}

/** Returns the truncated quotient. `Math.trunc(a / b)` would be wrong near 2^53, where `a / b` may round up. */
function exactQuotient(a: number, b: number): number {
  return (a - (a % b)) / b + 0
}
