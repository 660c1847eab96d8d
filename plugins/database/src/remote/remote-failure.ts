import type { Failure } from '../worker/protocol.ts'

/**
 * What a client's error means. `writes`: whether something was asked that may have been done although no answer came.
 */
export function remoteFailure(error: unknown, writes: boolean, timeoutMs: number): Failure {
  const { message, code, extendedCode, status, timedOut } = told(error)
  const named = extendedCode ?? code ?? ''
  const failure = (as: string, text: string): Failure => ({ code: as, message: text, compiling: false, offset: null })
  if (/^SQL/.test(named))
    return failure(named, message.replace(/^SQL(?:ITE)?_[A-Z_]+: (?:SQLite (?:input )?error: )?/, ''))
  if (status === 401 || status === 403) return failure('REMOTE_UNAUTHORIZED', `it answers ${status}: ${message}`)
  const unknown = writes ? '; the change may have been made or not' : ''
  if (timedOut) return failure('REMOTE_TIMEOUT', `no answer within ${timeoutMs} ms${unknown}`)
  return failure('REMOTE_UNREACHABLE', `${message}${unknown}`)
}

interface Told {
  readonly message: string
  readonly code: string | undefined
  readonly extendedCode: string | undefined
  readonly status: number | undefined
  readonly timedOut: boolean
}

/** Clients wrap what they meet; the innermost says most. */
function told(error: unknown): Told {
  let found: Told = {
    message: String(error),
    code: undefined,
    extendedCode: undefined,
    status: undefined,
    timedOut: false
  }
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, extendedCode, status } = at as { code?: unknown; extendedCode?: unknown; status?: unknown }
    found = {
      message: at.message === '' ? found.message : at.message,
      code: found.code ?? (typeof code === 'string' ? code : undefined),
      extendedCode: found.extendedCode ?? (typeof extendedCode === 'string' ? extendedCode : undefined),
      status: found.status ?? (typeof status === 'number' ? status : undefined),
      timedOut: found.timedOut || at.name === 'TimeoutError'
    }
  }
  return found
}
