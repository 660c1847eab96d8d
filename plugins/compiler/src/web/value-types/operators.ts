import type { BinaryOperator } from '../../syntax/ast-expressions.ts'
import { ANY, BOOL, FLOAT, INT, STR, type ValueType } from './type.ts'

/** Returns the result type of an operator; undefined for operands that it does not accept. */
export function operatorResult(operator: BinaryOperator, left: ValueType, right: ValueType): ValueType | undefined {
  switch (operator) {
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return arithmetic(operator, left, right)
    case '|>':
      return ANY
    default:
      return BOOL
  }
}

function arithmetic(operator: BinaryOperator, left: ValueType, right: ValueType): ValueType | undefined {
  const [a, b] = [unwrapped(left), unwrapped(right)]
  if (operator === '+' && (isText(a) || isText(b))) return STR
  if (isOpen(a) || isOpen(b)) return ANY
  if (operator === '+' && a.kind === 'generic' && b.kind === 'generic' && a.name === 'List' && b.name === 'List')
    return a
  if (a.kind !== 'plain' || b.kind !== 'plain') return undefined
  if (a.name === 'dec' && b.name === 'dec') return a
  const isNumber = ({ name }: { readonly name: string }): boolean => name === 'int' || name === 'float'
  if (!isNumber(a) || !isNumber(b)) return undefined
  return a.name === 'int' && b.name === 'int' ? INT : FLOAT
}

function unwrapped(type: ValueType): ValueType {
  return type.kind === 'dbResult' ? type.value : type
}

function isText(type: ValueType): boolean {
  return type.kind === 'plain' && (type.name === 'str' || type.name === 'char')
}

function isOpen(type: ValueType): boolean {
  return type.kind === 'any' || type.kind === 'never'
}
