import type { Hir } from '@svc/contracts'
import type { Build } from './module.ts'
import { isNamed } from './value-types.ts'

/** Limit of lengths of values in JavaScript. */
const MAX_LENGTH = 2 ** 32

const LENGTHS: ReadonlySet<string> = new Set(
  ['List', 'str', 'Map', 'Set'].flatMap(type => ['len', 'length', 'chars_count'].map(name => `${type}.${name}`))
)

/** Limit of the times of JavaScript, in milliseconds since 1970. */
const MAX_TIME = 8.64e15

/** Returns a limit of the size of an int in the code of a build; Infinity if none is known. */
export function boundIn({ isDocument }: Build, node: Hir.Expr | Hir.Local): number {
  if (isDocument) return 0
  return 'kind' in node ? intBound(node) : Number.POSITIVE_INFINITY
}

function intBound(node: Hir.Expr): number {
  switch (node.kind) {
    case 'Int':
      return typeof node.value === 'number' ? Math.abs(node.value) : Number.POSITIVE_INFINITY
    case 'Unary':
      return node.operator === 'neg' ? intBound(node.operand) : Number.POSITIVE_INFINITY
    case 'CallNative':
      if (node.native === 'len' || LENGTHS.has(node.native)) return MAX_LENGTH
      return /^std\.(time\.)?now_ms$/.test(node.native) ? MAX_TIME : Number.POSITIVE_INFINITY
    case 'Binary':
      return isNamed(node.left.type, 'int') && isNamed(node.right.type, 'int')
        ? boundOf(node.operator, intBound(node.left), intBound(node.right))
        : Number.POSITIVE_INFINITY
    default:
      return Number.POSITIVE_INFINITY
  }
}

function boundOf(operator: Hir.BinaryOperator, left: number, right: number): number {
  switch (operator) {
    case 'add':
    case 'sub':
      return left + right
    case 'mul':
      return left * right
    case 'div':
      return left
    case 'mod':
      return Math.min(left, right)
    default:
      return Number.POSITIVE_INFINITY
  }
}

/** True if an int is always exact as a number of JavaScript. */
export function isExact(bound: number): boolean {
  return bound <= Number.MAX_SAFE_INTEGER
}

/** True for an operation whose result may be an int that is no exact number of JavaScript. */
export function mayExceed(operator: Hir.BinaryOperator, left: number, right: number): boolean {
  return !isExact(left) || !isExact(right) || !isExact(boundOf(operator, left, right))
}
