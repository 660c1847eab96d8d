import type { Hir } from '@svc/contracts'
import { type Doc, group, indent, line } from '../doc/doc.ts'
import { call, code, Level, operand, type TypeScriptCode } from './code.ts'
import { decimalPlaces, withPlainDecimals } from './decimals.ts'
import { type Emitter, textOf } from './emitter.ts'
import { isExact, mayExceed } from './int-bounds.ts'
import { literal } from './names.ts'
import { isList, isNamed, isScalar } from './value-types.ts'

const SIGNS: Readonly<Record<Hir.BinaryOperator, readonly [sign: string, level: Level]>> = {
  is: ['===', Level.equality],
  isnt: ['!==', Level.equality],
  lt: ['<', Level.relation],
  gt: ['>', Level.relation],
  lte: ['<=', Level.relation],
  gte: ['>=', Level.relation],
  add: ['+', Level.sum],
  sub: ['-', Level.sum],
  mul: ['*', Level.product],
  div: ['/', Level.product],
  mod: ['%', Level.product]
}

const DECIMAL: Readonly<Partial<Record<Hir.BinaryOperator, string>>> = {
  add: 'decimal_sum',
  sub: 'decimal_difference',
  mul: 'decimal_product',
  div: 'decimal_quotient',
  mod: 'decimal_remainder'
}

/** Operations on ints whose result may need more digits than a number of JavaScript has. */
const INT: Readonly<Partial<Record<Hir.BinaryOperator, string>>> = {
  add: 'int_sum',
  sub: 'int_difference',
  mul: 'int_product'
}

/** An operand with its translation. */
export interface Operand {
  readonly code: TypeScriptCode
  readonly type: Hir.Type
  /** True for `None`. */
  readonly isNone: boolean
  /** Limit of the size of an int. */
  readonly bound: number
}

export function binaryCode(e: Emitter, operator: Hir.BinaryOperator, left: Operand, right: Operand): TypeScriptCode {
  const [sign, level] = SIGNS[operator]
  const [a, b] = [left.type, right.type]
  const helped = (name: string): TypeScriptCode => call(e.file.helper(name), left.code.doc, right.code.doc)
  const refused = refusedCode(e, operator, left, right)
  if (refused !== null) return refused
  switch (operator) {
    case 'is':
    case 'isnt': {
      if (left.isNone || right.isNone) {
        const value = left.isNone ? right.code : left.code
        return code([operand(value, Level.relation), operator === 'is' ? ' == null' : ' != null'], Level.equality)
      }
      if (isNamed(a, 'dec') && isNamed(b, 'dec')) {
        return code([helped('compare_decimals').doc, ` ${sign} 0`], Level.equality)
      }
      if (isMixed(left, right)) {
        // TypeScript compares a bigint with a number only so.
        return code(
          infix(operand(left.code, level), operator === 'is' ? '==' : '!=', operand(right.code, Level.relation)),
          level
        )
      }
      // A comparison with null suffices for a value without fields.
      if (isScalar(a) || isScalar(b)) break
      const [places, others] = [decimalPlaces(a, e.file.program), decimalPlaces(b, e.file.program)]
      const plain = (value: TypeScriptCode, of: string | null): Doc =>
        of === null ? value.doc : withPlainDecimals(e, value, of).doc
      const same = call(e.file.helper('same'), plain(left.code, places ?? others), plain(right.code, others ?? places))
      return operator === 'is' ? same : code(['!', same.doc], Level.prefix)
    }
    case 'add':
      if (isList(a) && isList(b)) return code(['[...', left.code.doc, ', ...', right.code.doc, ']'])
      if (isNamed(a, 'str', 'char') !== isNamed(b, 'str', 'char')) return joined(e, left, right)
  }
  if (isNamed(a, 'dec') && isNamed(b, 'dec')) {
    const name = DECIMAL[operator]
    if (name !== undefined) return helped(name)
    if (level === Level.relation) return code([helped('compare_decimals').doc, ` ${sign} 0`], Level.relation)
  }
  if (isNamed(a, 'int') && isNamed(b, 'int')) {
    if (operator === 'div' || operator === 'mod') return helped(operator === 'div' ? 'quotient' : 'remainder')
    const name = INT[operator]
    if (name !== undefined && mayExceed(operator, left.bound, right.bound)) return helped(name)
  }
  const isMath = level === Level.sum || level === Level.product
  if (isMath && isMixed(left, right)) return infixCode(asFloat(left), sign, asFloat(right), level)
  return infixCode(left.code, sign, right.code, level)
}

/** Types whose values operators accept together, also in code that was checked without their types. */
const FAMILIES: readonly (readonly string[])[] = [['int', 'float'], ['dec'], ['str', 'char'], ['bool']]

/** Translates an operation that fails on a server because of the types of its operands; null for others. */
function refusedCode(e: Emitter, operator: Hir.BinaryOperator, left: Operand, right: Operand): TypeScriptCode | null {
  const [sign, level] = SIGNS[operator]
  const familyOf = (type: Hir.Type): number => FAMILIES.findIndex(names => isNamed(type, ...names))
  const [a, b] = [familyOf(left.type), familyOf(right.type)]
  if (a < 0 || b < 0 || a === b) return null
  const operands = [left.code.doc, right.code.doc]
  if (level === Level.equality) {
    const differ = call(e.file.helper('differ'), ...operands)
    return operator === 'isnt' ? differ : code(['!', differ.doc], Level.prefix)
  }
  const isText = (of: number): boolean => FAMILIES[of]?.[0] === 'str'
  if (operator === 'add' && (isText(a) || isText(b))) return null
  const [first, second] = [left.type, right.type].map(type => (type.kind === 'named' ? type.name : type.kind))
  const isComparison = level === Level.relation
  if (!isComparison && level !== Level.sum && level !== Level.product) return null
  const reason = isComparison
    ? `${first} and ${second} cannot be compared`
    : `${sign} does not accept ${first} and ${second}`
  return call(e.file.helper('refuse_operands'), literal(reason), ...operands)
}

/** True for a float and an int that may be a bigint. */
function isMixed(left: Operand, right: Operand): boolean {
  const [int, float] = isNamed(left.type, 'int') ? [left, right] : [right, left]
  return isNamed(int.type, 'int') && isNamed(float.type, 'float') && !isExact(int.bound)
}

/** Converts an int to a float. */
export function asFloat({ code: value, type, bound }: Pick<Operand, 'code' | 'type' | 'bound'>): TypeScriptCode {
  return isNamed(type, 'int') && !isExact(bound) ? call('Number', value.doc) : value
}

/** Returns an operation of two operands. Operators of one level are left-associative. */
export function infixCode(left: TypeScriptCode, sign: string, right: TypeScriptCode, level: Level): TypeScriptCode {
  return code(infix(operand(left, level), sign, operand(right, (level + 1) as Level)), level)
}

/** Returns the concatenation of a string and another value. */
function joined(e: Emitter, left: Operand, right: Operand): TypeScriptCode {
  const textOperand = ({ code: value, type }: Operand, level: Level): Doc =>
    (isScalar(type) && !isNamed(type, 'float')) || isNamed(type, 'dec')
      ? operand(value, level)
      : textOf(e, value, type).doc
  return code(infix(textOperand(left, Level.sum), '+', textOperand(right, Level.product)), Level.sum)
}

function infix(left: Doc, sign: string, right: Doc): Doc {
  return group([left, ` ${sign}`, indent([line, right])])
}
