import type { Hir, Program } from '@svc/contracts'

/** Returns all bodies of a program. */
export function bodiesOf({ module, tests, conditions, defaults, constants }: Program): Hir.Body[] {
  const found: Hir.Body[] = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('locals' in value && 'block' in value) found.push(value as Hir.Body)
    else for (const inner of Object.values(value)) visit(inner)
  }
  visit([module, tests, conditions, defaults, constants])
  return found
}
