import { isSvcError } from '@svc/plugin-sdk'

/** What a statement is to blame for itself, in contrast to the place that the database is at. */
const OF_A_STATEMENT = new Set(['DBS_CONSTRAINT', 'DBS_SYNTAX', 'DBS_VALUE_INVALID'])

/** Index of the statement of a batch that is to blame for its failure; null where none is. */
export function statementToBlame(error: unknown): number | null {
  if (!isSvcError(error) || !OF_A_STATEMENT.has(error.code)) return null
  return ((error.data ?? {}) as { readonly statement?: number }).statement ?? null
}

/** Code and message: what `status` shows. */
export function describeFailure(error: unknown): string {
  if (isSvcError(error)) return `${error.code}: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
