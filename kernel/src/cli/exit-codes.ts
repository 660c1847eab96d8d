import { isSvcError } from '@svc/plugin-sdk'

/** Exit codes; scripts may rely on them. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  configuration: 3,
  notFound: 4,
  forbidden: 5,
  conflict: 6,
  unavailable: 7,
  interrupted: 130
} as const

/** Returns the exit code for an error, by its code, else by its HTTP status. */
export function exitCodeOf(error: unknown): number {
  if (!isSvcError(error)) return EXIT.failure
  if (error.code === 'OPR_CANCELLED') return EXIT.interrupted
  if (error.code.startsWith('CFG_') && error.status === 500) return EXIT.configuration
  if (error.status === 400 || error.status === 422) return EXIT.usage
  if (error.status === 401 || error.status === 403) return EXIT.forbidden
  if (error.status === 404) return EXIT.notFound
  if (error.status === 409) return EXIT.conflict
  if (error.status === 429 || error.status === 503 || error.status === 504) return EXIT.unavailable
  return EXIT.failure
}
