import type { Expression } from '../syntax/ast-expressions.ts'

/** The words of `std.fs.read`; null for an expression that is more than words and dots. */
export function memberPath(expression: Expression): string[] | null {
  const path: string[] = []
  let at = expression
  while (at.kind === 'Member') {
    path.unshift(at.property.text)
    at = at.object
  }
  return at.kind === 'Identifier' ? [at.name, ...path] : null
}
