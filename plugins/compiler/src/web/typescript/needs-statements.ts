import type { Expression } from '../../syntax/ast-expressions.ts'
import type { Statement } from '../../syntax/ast-statements.ts'
import { type AnyNode, childrenOf } from '../../syntax/walk.ts'

/** Parts that TypeScript expressions cannot contain. */
export function needsStatements(expression: Expression): boolean {
  switch (expression.kind) {
    case 'Match':
    case 'Try':
    case 'SideEffect':
      return true
    case 'Lambda':
    case 'Element':
    case 'ElementFragment':
      // They are closed: their content becomes its own function.
      return false
    case 'Block': {
      const [only] = expression.statements
      return (
        expression.statements.length !== 1 || only?.kind !== 'ExpressionStatement' || needsStatements(only.expression)
      )
    }
    case 'If':
      return [expression.condition, expression.then, expression.else].some(
        each => each !== null && needsStatements(each)
      )
    case 'For':
      return needsStatements(expression.iterable) || leaves(expression.body)
    default:
      return childrenOf(expression).some(child => needsStatements(child as Expression))
  }
}

/** True if code leaves the enclosing loop or function. */
export function leaves(node: Expression | Statement): boolean {
  return contains(node, child => LEAVING.has(child.kind))
}

/** True if a `break` belongs to a loop around this node. */
export function breaks(node: AnyNode): boolean {
  return contains(node, child => child.kind === 'Break', LOOPS)
}

const LEAVING: ReadonlySet<string> = new Set(['Return', 'Break', 'Continue', 'Try'])
const LOOPS: ReadonlySet<string> = new Set(['Lambda', 'While', 'Loop', 'For'])
const FUNCTIONS: ReadonlySet<string> = new Set(['Lambda'])

/** True if a node or a descendant matches; the descendants of some kinds are skipped. */
export function contains(
  node: AnyNode,
  fits: (node: AnyNode) => boolean,
  closed: ReadonlySet<string> = FUNCTIONS
): boolean {
  if (fits(node)) return true
  return childrenOf(node).some(child => !closed.has(child.kind) && contains(child, fits, closed))
}
