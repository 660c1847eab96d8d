import type { Statement } from './ast-statements.ts'

/** Complete by its type. */
const kinds: Readonly<Record<Statement['kind'], true>> = {
  Let: true,
  Assign: true,
  ExpressionStatement: true,
  Return: true,
  While: true,
  Loop: true,
  Break: true,
  Continue: true
}

/** Whether a node that may also be something else, such as the body of an arm, is a statement. */
export function isStatement<Other extends { readonly kind: string }>(node: Statement | Other): node is Statement {
  return Object.hasOwn(kinds, node.kind)
}
