import type { Hir } from '@svc/contracts'

/** The documents of a module have no code. */
export function codeOf(code: Hir.Body | undefined): { readonly code: Hir.Body } {
  return (code === undefined ? {} : { code }) as { readonly code: Hir.Body }
}
