import { defined, isSvcError } from '@svc/plugin-sdk'
import type { RunErrorCode } from '../errors.ts'
import type { RunFailure } from './job.ts'

/** An error in the form sent by the thread. */
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
