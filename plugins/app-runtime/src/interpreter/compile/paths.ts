import type { HirExpression } from '@svc/contracts'

/** `std.fs` for names joined by points; null for anything else. */
export function pathOf(expression: HirExpression): string | null {
  if ('Ident' in expression) return expression.Ident[0]
  if (!('FieldAccess' in expression)) return null
  const [object, field] = expression.FieldAccess
  const path = pathOf(object)
  return path === null ? null : `${path}.${field}`
}

/** The name that a path begins with. */
export function rootOf(path: string): string {
  const point = path.indexOf('.')
  return point < 0 ? path : path.slice(0, point)
}
