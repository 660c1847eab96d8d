import { type Hir, unreachable } from '@svc/contracts'
import { isEqual } from '../equality.ts'
import type { Eval } from '../machine.ts'
import { add, arithmetic, compare, negate, truth } from '../operators.ts'
import { Float } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'

const MAX_EXACT = Number.MAX_SAFE_INTEGER

/** A compiled operand with its type. */
export interface Operand {
  readonly run: Eval
  readonly type: Hir.Type
}

/** Compiles a binary operator. Operands of known types have a fast path; `operators.ts` handles the rest. */
export function compileBinary(body: BodyCompiler, { operator, left, right, start: at }: Hir.Binary): Eval {
  const first = { run: body.value(left), type: left.type }
  const second = { run: body.value(right), type: right.type }
  const general = binaryOf(body, operator, first, second, at)
  if (right.kind !== 'Int' || typeof right.value !== 'number' || !isNamed(left.type, 'int')) return general
  return withConstant(operator, first.run, right.value, at) ?? general
}

/** Returns an operator on an int and a constant; null for operators without a shorter form. */
function withConstant(operator: Hir.BinaryOperator, left: Eval, constant: number, at: number): Eval | null {
  switch (operator) {
    case 'add':
      return frame => {
        const a = left(frame)
        if (typeof a === 'number') {
          const sum = a + constant
          if (sum <= MAX_EXACT && sum >= -MAX_EXACT) return sum
        }
        return arithmetic('+', a, constant, at)
      }
    case 'sub':
      return frame => {
        const a = left(frame)
        if (typeof a === 'number') {
          const difference = a - constant
          if (difference <= MAX_EXACT && difference >= -MAX_EXACT) return difference
        }
        return arithmetic('-', a, constant, at)
      }
    case 'mod':
      if (constant === 0) return null
      return frame => {
        const a = left(frame)
        return typeof a === 'number' ? (a % constant) + 0 : arithmetic('%', a, constant, at)
      }
    case 'lt':
      return frame => {
        const a = left(frame)
        return typeof a === 'number' ? a < constant : compare(a, constant, at) < 0
      }
    case 'gt':
      return frame => {
        const a = left(frame)
        return typeof a === 'number' ? a > constant : compare(a, constant, at) > 0
      }
    case 'lte':
      return frame => {
        const a = left(frame)
        return typeof a === 'number' ? a <= constant : compare(a, constant, at) <= 0
      }
    case 'gte':
      return frame => {
        const a = left(frame)
        return typeof a === 'number' ? a >= constant : compare(a, constant, at) >= 0
      }
    case 'is':
      return frame => isEqual(left(frame), constant)
    case 'isnt':
      return frame => !isEqual(left(frame), constant)
    case 'mul':
    case 'div':
      return null
    default:
      return unreachable(operator)
  }
}

/** Returns an operator on operands that are already compiled. */
export function binaryOf(
  { machine }: BodyCompiler,
  operator: Hir.BinaryOperator,
  { run: left, type }: Operand,
  { run: right, type: other }: Operand,
  at: number
): Eval {
  if (isNamed(type, 'float') && isNamed(other, 'float')) return floats(operator, left, right, at)
  switch (operator) {
    case 'add':
      if (isNamed(type, 'str') && isNamed(other, 'str')) {
        return frame => {
          const a = left(frame)
          const b = right(frame)
          const text = typeof a === 'string' && typeof b === 'string' ? a + b : (add(a, b, at) as string)
          machine.allocate(text.length * 8, at)
          return text
        }
      }
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number') {
          const sum = a + b
          if (sum <= MAX_EXACT && sum >= -MAX_EXACT) return sum
        }
        const sum = add(a, b, at)
        if (typeof sum === 'string' || Array.isArray(sum)) machine.allocate(sum.length * 8, at)
        return sum
      }
    case 'sub':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number') {
          const difference = a - b
          if (difference <= MAX_EXACT && difference >= -MAX_EXACT) return difference
        }
        return arithmetic('-', a, b, at)
      }
    case 'mul':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number') {
          const product = a * b
          // Adding 0 turns -0 into 0.
          if (product <= MAX_EXACT && product >= -MAX_EXACT) return product + 0
        }
        return arithmetic('*', a, b, at)
      }
    case 'div':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number' && b !== 0) return exactQuotient(a, b)
        return arithmetic('/', a, b, at)
      }
    case 'mod':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        if (typeof a === 'number' && typeof b === 'number' && b !== 0) return (a % b) + 0
        return arithmetic('%', a, b, at)
      }
    case 'lt':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return typeof a === 'number' && typeof b === 'number' ? a < b : compare(a, b, at) < 0
      }
    case 'gt':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return typeof a === 'number' && typeof b === 'number' ? a > b : compare(a, b, at) > 0
      }
    case 'lte':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return typeof a === 'number' && typeof b === 'number' ? a <= b : compare(a, b, at) <= 0
      }
    case 'gte':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return typeof a === 'number' && typeof b === 'number' ? a >= b : compare(a, b, at) >= 0
      }
    case 'is':
      return frame => isEqual(left(frame), right(frame))
    case 'isnt':
      return frame => !isEqual(left(frame), right(frame))
    default:
      return unreachable(operator)
  }
}

/** Operators on two floats. A value of another kind, which an older version may have stored, takes the general path. */
function floats(operator: Hir.BinaryOperator, left: Eval, right: Eval, at: number): Eval {
  switch (operator) {
    case 'add':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return a instanceof Float && b instanceof Float ? new Float(a.value + b.value) : add(a, b, at)
      }
    case 'sub':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return a instanceof Float && b instanceof Float ? new Float(a.value - b.value) : arithmetic('-', a, b, at)
      }
    case 'mul':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return a instanceof Float && b instanceof Float ? new Float(a.value * b.value) : arithmetic('*', a, b, at)
      }
    case 'div':
      return frame => {
        const a = left(frame)
        const b = right(frame)
        return a instanceof Float && b instanceof Float ? new Float(a.value / b.value) : arithmetic('/', a, b, at)
      }
    case 'mod':
      return frame => arithmetic('%', left(frame), right(frame), at)
    case 'lt':
      return frame => compare(left(frame), right(frame), at) < 0
    case 'gt':
      return frame => compare(left(frame), right(frame), at) > 0
    case 'lte':
      return frame => compare(left(frame), right(frame), at) <= 0
    case 'gte':
      return frame => compare(left(frame), right(frame), at) >= 0
    case 'is':
      return frame => isEqual(left(frame), right(frame))
    case 'isnt':
      return frame => !isEqual(left(frame), right(frame))
    default:
      return unreachable(operator)
  }
}

export function compileLogical(body: BodyCompiler, { operator, left, right, start: at }: Hir.Logical): Eval {
  const [first, second] = [body.value(left), body.value(right)]
  if (operator === 'and') return frame => truth(first(frame), at) && truth(second(frame), at)
  return frame => truth(first(frame), at) || truth(second(frame), at)
}

export function compileUnary(body: BodyCompiler, { operator, operand, start: at }: Hir.Unary): Eval {
  const value = body.value(operand)
  if (operator === 'not') return frame => !truth(value(frame), at)
  return frame => {
    const number = value(frame)
    return typeof number === 'number' ? 0 - number : negate(number, at)
  }
}

/** Returns the truncated quotient. `Math.trunc(a / b)` would be wrong near 2^53, where `a / b` may round up. */
function exactQuotient(a: number, b: number): number {
  return (a - (a % b)) / b + 0
}

function isNamed(type: Hir.Type, name: string): boolean {
  return type.kind === 'named' && type.name === name
}
