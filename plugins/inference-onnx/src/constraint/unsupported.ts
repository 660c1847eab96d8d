import { defined } from '@svc/plugin-sdk'
import { inferenceErrors } from '../errors.ts'

/** Returns the error for a part of a constraint that cannot be enforced. `path`: JSON Pointer, or another location. */
export function unsupported(path: string, why: string, hint?: string) {
  return inferenceErrors.create('INF_CONSTRAINT_UNSUPPORTED', `The constraint at ${path}: ${why}`, {
    at: { path },
    data: { path },
    ...defined({ hint })
  })
}
