import { defined } from '@svc/plugin-sdk'
import { inferenceErrors } from '../errors.ts'

/**
 * The error for a part of a constraint that cannot be enforced. `path`: JSON Pointer of the place, or another
 * description.
 */
export function unsupported(path: string, why: string, hint?: string) {
  return inferenceErrors.create('INF_CONSTRAINT_UNSUPPORTED', `The constraint at ${path}: ${why}`, {
    at: { path },
    data: { path },
    ...defined({ hint })
  })
}
