import type { Expression } from '../syntax/ast-expressions.ts'

/** Returns the names in a path such as `std.fs.read`; null for other expressions. */
export function memberPath(expression: Expression): string[] | null {
  const path: string[] = []
  let at = expression
  while (at.kind === 'Member') {
    path.unshift(at.property.text)
    at = at.object
  }
  return at.kind === 'Identifier' ? [at.name, ...path] : null
}
