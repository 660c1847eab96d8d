import type { Hir } from '@svc/contracts'
import { onlyExpression } from './uses.ts'
import { isNamed } from './value-types.ts'

/** Methods whose result is made of their arguments. */
const COPIES: ReadonlySet<string> = new Set([...['List.push', 'List.append', 'Option.unwrap_or', 'Result.unwrap_or']])

/**
 * True for values whose type TypeScript cannot infer from themselves: the array `[1, 'a']` is a tuple, `null` has a
 * value, and `[]` has elements.
 */
export function isOpen(node: Hir.Expr): boolean {
  switch (node.kind) {
    case 'Tuple':
    case 'Map':
      return true
    case 'List':
      return node.items.length === 0 || node.items.some(isOpen)
    case 'Variant':
      if (node.name === 'Some') return node.args.some(value => isLiteral(value) || isOpen(value))
      return node.type.kind === 'named' && node.type.args.length > 0
    case 'Struct':
    case 'Record':
      return node.fields.some(([, value]) => isOpen(value))
    case 'CallNative':
      // A copy with another key has only the type of the key.
      return node.native === 'Map.set' || (COPIES.has(node.native) && node.args.some(isOpen))
    case 'Binary':
      return isNamed(node.type, 'List') && (isOpen(node.left) || isOpen(node.right))
    case 'If':
      return [node.then, node.otherwise ?? []].some(branch => {
        const only = onlyExpression(branch)
        return only !== null && isOpen(only)
      })
    case 'Block': {
      const only = onlyExpression(node)
      return only !== null && isOpen(only)
    }
    case 'For':
      return isOpen(node.body)
    default:
      return false
  }
}

/** True for types whose values TypeScript does not infer as such. */
export function isOpenType(type: Hir.Type): boolean {
  if (type.kind === 'tuple') return true
  return type.kind === 'named' && (isNamed(type, 'Option', 'Result', 'Map') || type.args.some(isOpenType))
}

/** True for numbers, strings and booleans that are written as such: TypeScript gives each its own type. */
export function isLiteral(node: Hir.Expr): boolean {
  switch (node.kind) {
    case 'Int':
    case 'Float':
    case 'Str':
    case 'Bool':
    case 'Decimal':
      return true
    case 'Unary':
      return isLiteral(node.operand)
    case 'Tuple':
      return node.items.some(isLiteral)
    case 'If':
      return [node.then, node.otherwise ?? []].some(branch => {
        const only = onlyExpression(branch)
        return only !== null && isLiteral(only)
      })
    default:
      return false
  }
}
