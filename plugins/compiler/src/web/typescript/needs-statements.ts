import type { Expression } from '../../syntax/ast-expressions.ts'
import type { Statement } from '../../syntax/ast-statements.ts'
import { type AnyNode, childrenOf } from '../../syntax/walk.ts'

/** True if an expression contains parts that TypeScript allows only as statements. */
export function needsStatements(expression: Expression): boolean {
  switch (expression.kind) {
    case 'Match':
    case 'Try':
    case 'SideEffect':
      return true
    case 'Lambda':
    case 'Element':
    case 'ElementFragment':
      // These become separate functions, so their content does not matter.
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

/** True if code contains a jump out of the enclosing loop or function. */
export function leaves(node: Expression | Statement): boolean {
  return contains(node, child => LEAVING.has(child.kind))
}

/** True if a `break` in this node belongs to an enclosing loop. */
export function breaks(node: AnyNode): boolean {
  return contains(node, child => child.kind === 'Break', LOOPS)
}

const LEAVING: ReadonlySet<string> = new Set(['Return', 'Break', 'Continue', 'Try'])
const LOOPS: ReadonlySet<string> = new Set(['Lambda', 'While', 'Loop', 'For'])
const FUNCTIONS: ReadonlySet<string> = new Set(['Lambda'])

/** True if a node or a descendant matches. The descendants of some kinds are skipped. */
export function contains(
  node: AnyNode,
  matches: (node: AnyNode) => boolean,
  closed: ReadonlySet<string> = FUNCTIONS
): boolean {
  if (matches(node)) return true
  return childrenOf(node).some(child => !closed.has(child.kind) && contains(child, matches, closed))
}
