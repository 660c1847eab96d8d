import type { Statement } from './ast-statements.ts'

/** The types of all statements. */
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

/** True if a node, such as the body of an arm, is a statement. */
export function isStatement<Other extends { readonly kind: string }>(node: Statement | Other): node is Statement {
  return Object.hasOwn(kinds, node.kind)
}
