import { type Doc, group, indent, line } from '../../doc/doc.ts'
import type { BinaryOperator } from '../../syntax/ast-expressions.ts'
import { call, code, Level, operand, type TypeScriptCode } from '../../typescript/code.ts'
import type { ValueType } from '../value-types/type.ts'
import { isGeneric, isPlain, isScalar } from './value-types.ts'

type Operator = Exclude<BinaryOperator, '|>'>

const SIGNS: Readonly<Record<Operator, readonly [sign: string, level: Level]>> = {
  or: ['||', Level.or],
  and: ['&&', Level.and],
  is: ['===', Level.equality],
  isnt: ['!==', Level.equality],
  '<': ['<', Level.relation],
  '>': ['>', Level.relation],
  '<=': ['<=', Level.relation],
  '>=': ['>=', Level.relation],
  '+': ['+', Level.sum],
  '-': ['-', Level.sum],
  '*': ['*', Level.product],
  '/': ['/', Level.product],
  '%': ['%', Level.product]
}

const DECIMAL: Readonly<Partial<Record<Operator, string>>> = {
  '+': 'decimal_sum',
  '-': 'decimal_difference',
  '*': 'decimal_product'
}

interface OperatorUses {
  helper(name: string): string
  /** Returns a value as the text that `str` makes of it. */
  text(value: TypeScriptCode, type: ValueType): TypeScriptCode
}

/** Translates a binary operator. `isNone` is true for a `None` operand. */
export function translateBinary(
  operator: Operator,
  left: TypeScriptCode,
  right: TypeScriptCode,
  [a, b]: readonly [ValueType, ValueType],
  [noneLeft, noneRight]: readonly [boolean, boolean],
  { helper, text }: OperatorUses
): TypeScriptCode {
  const plain = (sign?: string): TypeScriptCode => {
    const [own, level] = SIGNS[operator]
    // Operators of one level are left-associative.
    return code(infix(operand(left, level), sign ?? own, operand(right, (level + 1) as Level)), level)
  }
  switch (operator) {
    case 'is':
    case 'isnt': {
      if (noneLeft || noneRight) {
        const value = noneLeft ? right : left
        return code([operand(value, Level.relation), operator === 'is' ? ' == null' : ' != null'], Level.equality)
      }
      // A comparison with null suffices for a value without fields.
      if (isScalar(a) || isScalar(b)) return plain()
      const same = call(helper('same'), left.doc, right.doc)
      return operator === 'is' ? same : code(['!', same.doc], Level.prefix)
    }
    case '+':
      if (isGeneric(a, 'List') && isGeneric(b, 'List')) return code(['[...', left.doc, ', ...', right.doc, ']'])
      if (isPlain(a, 'str', 'char') !== isPlain(b, 'str', 'char')) return joined(left, right, a, b, text)
  }
  if (isPlain(a, 'dec') && isPlain(b, 'dec')) {
    const name = DECIMAL[operator]
    if (name !== undefined) return call(helper(name), left.doc, right.doc)
    if (SIGNS[operator][1] === Level.relation) {
      return code([call(helper('compare_decimals'), left.doc, right.doc).doc, ` ${operator} 0`], Level.relation)
    }
  }
  if (isPlain(a, 'int') && isPlain(b, 'int') && (operator === '/' || operator === '%')) {
    return call(helper(operator === '/' ? 'quotient' : 'remainder'), left.doc, right.doc)
  }
  return plain()
}

/** Returns the concatenation of a string and another value. */
function joined(
  left: TypeScriptCode,
  right: TypeScriptCode,
  a: ValueType,
  b: ValueType,
  text: OperatorUses['text']
): TypeScriptCode {
  const textOperand = (value: TypeScriptCode, type: ValueType, level: Level) =>
    isPlain(type, 'str', 'char', 'int', 'float', 'bool', 'dec') ? operand(value, level) : text(value, type).doc
  return code(infix(textOperand(left, a, Level.sum), '+', textOperand(right, b, Level.product)), Level.sum)
}

function infix(left: Doc, sign: string, right: Doc): Doc {
  return group([left, ` ${sign}`, indent([line, right])])
}
