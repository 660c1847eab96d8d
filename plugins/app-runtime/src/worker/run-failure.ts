import { defined, isSvcError } from '@svc/plugin-sdk'
import type { RunErrorCode } from '../errors.ts'
import type { RunFailure } from './job.ts'

/** Converts an error to the form that the thread sends. Rethrows errors without a code. */
export function failureOf(error: unknown): RunFailure {
  if (!isSvcError(error)) throw error
  const { code, message, hint, at, data } = error
  const { calls = [] } = (data ?? {}) as { readonly calls?: readonly string[] }
  return {
    code: code as RunErrorCode,
    message,
    ...defined({ hint, at }),
    calls
  }
}
