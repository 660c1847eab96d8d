import type { Statement } from './ast-statements.ts'

/** Kinds of all statements. */
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

/** True if a node is a statement. The body of a match arm is a statement or an expression. */
export function isStatement<Other extends { readonly kind: string }>(node: Statement | Other): node is Statement {
  return Object.hasOwn(kinds, node.kind)
}
