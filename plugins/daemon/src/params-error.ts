import { isSvcError, SvcError } from '@svc/plugin-sdk'

interface Problem {
  readonly path: string
  readonly message: string
}

/**
 * Rewords an input error to name the method and its params, since clients do not know the operation. Other errors,
 * including those of nested operations, stay unchanged.
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
