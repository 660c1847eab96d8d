import { isSvcError } from '@svc/plugin-sdk'

/** What a client is told of an error, as JSON. What is not meant for clients stays here. */
export function errorText(error: unknown): string {
  return JSON.stringify({ error: errorFacts(error) })
}

export function errorFacts(error: unknown): { code: string; message: string; hint?: string; after_id?: number } {
  if (!isSvcError(error)) return { code: 'RUN_HOST_FAILED', message: 'the changes cannot be read at the moment' }
  const { code, message, hint, data } = error
  const newest = (data as { readonly newest_id?: unknown } | undefined)?.newest_id
  return {
    code,
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(typeof newest === 'number' ? { after_id: newest } : {})
  }
}
