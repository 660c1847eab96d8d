import { defined, isSvcError } from '@svc/plugin-sdk'

/** Returns an error as JSON for clients, without internal details. */
export function errorText(error: unknown): string {
  return JSON.stringify(errorFacts(error))
}

/** Returns an error in the form of the program's HTTP responses. */
export function errorFacts(error: unknown): { error: string; code: string; details?: unknown; hint?: string } {
  if (!isSvcError(error)) return { error: 'the changes are temporarily unavailable', code: 'RUN_HOST_FAILED' }
  const { code, message, hint, data } = error
  return {
    error: message,
    code,
    ...defined({ details: data }),
    ...defined({ hint })
  }
}

/** Returns the HTTP status of an error. */
export function errorStatus(error: unknown): number {
  return isSvcError(error) ? error.status : 503
}
