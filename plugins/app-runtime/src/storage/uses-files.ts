import type { Program } from '@svc/contracts'

/** True if a program stores files: it has the type `File`, or calls `std.files`. */
export function usesFiles({ module, constants }: Pick<Program, 'module' | 'constants'>): boolean {
  if (module.types.some(({ name, is_builtin }) => name === 'File' && is_builtin === true)) return true
  const waiting: object[] = [module, constants]
  // The list grows during the walk.
  for (const node of waiting) {
    if ('FieldAccess' in node && Array.isArray(node.FieldAccess)) {
      const [object, field] = node.FieldAccess as [{ readonly Ident?: readonly [string] }, string]
      if (field === 'files' && object.Ident?.[0] === 'std') return true
    }
    for (const key in node) {
      const child = node[key as never] as unknown
      if (typeof child === 'object' && child !== null && key !== 'span') waiting.push(child)
    }
  }
  return false
}
