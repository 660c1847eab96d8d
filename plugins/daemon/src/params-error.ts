import { isSvcError, SvcError } from '@svc/plugin-sdk'

interface Problem {
  readonly path: string
  readonly message: string
}

/**
 * Rewords an input error in terms of the request's `params`: peers know the method and its params, not the operation.
 * Other errors stay unchanged, including those of nested operations.
 */
export function paramsError(error: unknown, method: string, operation: string): unknown {
  if (!isSvcError(error, 'OPR_INPUT_INVALID') || !error.message.startsWith(`${operation}: `)) return error
  const { status, hint, data } = error
  if (!Array.isArray(data) || data.length === 0) return error
  const problems = (data as Problem[]).map(
    ({ path, message }) => `${path === '' ? 'params' : `params.${path}`} ${message}`
  )
  return new SvcError(error.code, `${method}: ${problems.join('; ')}`, {
    status,
    data,
    ...(hint === undefined ? {} : { hint })
  })
}
