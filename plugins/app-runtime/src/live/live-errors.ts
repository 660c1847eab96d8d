import { isSvcError } from '@svc/plugin-sdk'

/** What a client is told of an error, as JSON. What is not meant for clients stays here. */
export function errorText(error: unknown): string {
  return JSON.stringify(errorFacts(error))
}

/** As errors of the program's listener are told. */
export function errorFacts(error: unknown): { error: string; code: string; details?: unknown; hint?: string } {
  if (!isSvcError(error)) return { error: 'the changes cannot be read at the moment', code: 'RUN_HOST_FAILED' }
  const { code, message, hint, data } = error
  return {
    error: message,
    code,
    ...(data === undefined ? {} : { details: data }),
    ...(hint === undefined ? {} : { hint })
  }
}
