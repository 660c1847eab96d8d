import { Decimal } from './decimal.ts'
import { display } from './display.ts'
import { fail } from './failure.ts'
import { typeName } from './type-name.ts'
import { Float, isInt, isList, type Value } from './value.ts'

const MIN_INT = -(1n << 63n)
const MAX_INT = (1n << 63n) - 1n

/** Returns an int in its canonical form. Throws `RUN_OVERFLOW` beyond 64 bits. */
export function intOf(value: bigint, at: number): number | bigint {
  if (value < MIN_INT || value > MAX_INT) fail('RUN_OVERFLOW', `${value} does not fit a 64-bit int`, at)
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** Adds two numbers of one kind, an int and a float, a str and any value, or two lists. */
export function add(a: Value, b: Value, at: number): Value {
  if (typeof a === 'string' || typeof b === 'string') return display(a) + display(b)
  if (isList(a) && isList(b)) return [...a, ...b]
  return arithmetic('+', a, b, at)
}

type Operator = '+' | '-' | '*' | '/' | '%'

/** Computes an operator for any operands. `compile/binary.ts` has the fast paths. */
export function arithmetic(operator: Operator, a: Value, b: Value, at: number): Value {
  if (isInt(a) && isInt(b)) return intArithmetic(operator, a, b, at)
  if (a instanceof Decimal && b instanceof Decimal) return decimalArithmetic(operator, a, b, at)
  const left = floatOf(a)
  const right = floatOf(b)
  if (left === undefined || right === undefined) {
    return fail('RUN_TYPE', `${operator} does not accept ${typeName(a)} and ${typeName(b)}`, at)
  }
  return new Float(floatArithmetic(operator, left, right))
}

function intArithmetic(operator: Operator, a: number | bigint, b: number | bigint, at: number): number | bigint {
  const left = BigInt(a)
  const right = BigInt(b)
  switch (operator) {
    case '+':
      return intOf(left + right, at)
    case '-':
      return intOf(left - right, at)
    case '*':
      return intOf(left * right, at)
  }
  if (right === 0n) return fail('RUN_DIVISION_BY_ZERO', `${left} divided by zero`, at)
  return intOf(operator === '/' ? left / right : left % right, at)
}

function decimalArithmetic(operator: Operator, a: Decimal, b: Decimal, at: number): Decimal {
  switch (operator) {
    case '+':
      return a.plus(b)
    case '-':
      return a.minus(b)
    case '*':
      return a.times(b)
    case '/':
      return a.dividedBy(b, at)
    case '%':
      return a.remainder(b, at)
  }
}

function floatArithmetic(operator: Operator, a: number, b: number): number {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '%':
      return a % b
  }
}

function floatOf(value: Value): number | undefined {
  if (value instanceof Float) return value.value
  return isInt(value) ? Number(value) : undefined
}

/** Returns a negative number, 0 or a positive number; NaN for a NaN operand. Throws `RUN_TYPE` for unordered types. */
export function compare(a: Value, b: Value, at: number): number {
  if (isInt(a) && isInt(b)) return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  if (a instanceof Decimal && b instanceof Decimal) return a.compare(b)
  const left = floatOf(a)
  const right = floatOf(b)
  if (left === undefined || right === undefined) {
    return fail('RUN_TYPE', `${typeName(a)} and ${typeName(b)} cannot be compared`, at)
  }
  return left < right ? -1 : left > right ? 1 : left === right ? 0 : Number.NaN
}

export function negate(value: Value, at: number): Value {
  if (isInt(value)) return intOf(-BigInt(value), at)
  if (value instanceof Float) return new Float(-value.value)
  if (value instanceof Decimal) return value.negated()
  return fail('RUN_TYPE', `- does not accept ${typeName(value)}`, at)
}

export function truth(value: Value, at: number): boolean {
  if (typeof value === 'boolean') return value
  return fail('RUN_TYPE', `a condition must be a bool, found ${typeName(value)}`, at)
}
