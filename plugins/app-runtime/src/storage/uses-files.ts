import type { Program } from '@svc/contracts'

/** True if a program stores files: it has the type `File`, or calls `std.files`. */
export function usesFiles({ module, facts }: Pick<Program, 'module' | 'facts'>): boolean {
  return facts.usesFiles || module.types.some(({ name, is_builtin }) => name === 'File' && is_builtin === true)
}
