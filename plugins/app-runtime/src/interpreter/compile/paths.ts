import type { HirExpression } from '@svc/contracts'

/** Returns names joined by dots, such as `std.fs`; null for other expressions. */
export function pathOf(expression: HirExpression): string | null {
  if ('Ident' in expression) return expression.Ident[0]
  if (!('FieldAccess' in expression)) return null
  const [object, field] = expression.FieldAccess
  const path = pathOf(object)
  return path === null ? null : `${path}.${field}`
}

/** Returns the first name of a path. */
export function rootOf(path: string): string {
  const point = path.indexOf('.')
  return point < 0 ? path : path.slice(0, point)
}
