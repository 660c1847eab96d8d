import type { Hir } from '@svc/contracts'

/** Natives that only look at their arguments. */
const LOOKING: ReadonlySet<string> = new Set([
  'len',
  ...['len', 'is_empty', 'length', 'get', 'at', 'first', 'last'].map(name => `List.${name}`),
  ...['len', 'is_empty', 'get', 'has'].map(name => `Map.${name}`),
  ...['len', 'is_empty'].map(name => `str.${name}`)
])

/**
 * True if the evaluation of an expression certainly assigns no variable. A list that is read before it then needs no
 * protection from changes in place.
 */
export function assignsNothing(node: Hir.Expr): boolean {
  switch (node.kind) {
    case 'Int':
    case 'Float':
    case 'Decimal':
    case 'Str':
    case 'Bool':
    case 'Unit':
    case 'Local':
    case 'State':
    case 'Constant':
      return true
    case 'Binary':
    case 'Logical':
      return assignsNothing(node.left) && assignsNothing(node.right)
    case 'Unary':
    case 'Convert':
      return assignsNothing(node.operand)
    case 'Field':
    case 'Item':
      return assignsNothing(node.object)
    case 'Index':
      return assignsNothing(node.object) && assignsNothing(node.index)
    case 'CallNative':
      return (
        LOOKING.has(node.native) &&
        (node.receiver === null || assignsNothing(node.receiver)) &&
        node.args.every(assignsNothing)
      )
    default:
      return false
  }
}
