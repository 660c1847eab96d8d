import type { SqlFailure } from '../worker/protocol.ts'

/** Maps a client's error to a failure. `writes`: the request may have made changes even if no response came. */
export function remoteFailure(error: unknown, writes: boolean, timeoutMs: number): SqlFailure {
  const { message, code, extendedCode, status, timedOut } = detailsOf(error)
  const named = extendedCode ?? code ?? ''
  const failure = (as: string, text: string): SqlFailure => ({
    code: as,
    message: text,
    compiling: false,
    offset: null
  })
  if (/^SQL/.test(named))
    return failure(named, message.replace(/^SQL(?:ITE)?_[A-Z_]+: (?:SQLite (?:input )?error: )?/, ''))
  if (status === 401 || status === 403)
    return failure('REMOTE_UNAUTHORIZED', `the server responded with ${status}: ${message}`)
  const unknown = writes ? '; it is unknown whether the change was made' : ''
  if (timedOut) return failure('REMOTE_TIMEOUT', `no response within ${timeoutMs} ms${unknown}`)
  return failure('REMOTE_UNREACHABLE', `${message}${unknown}`)
}

interface ErrorDetails {
  readonly message: string
  readonly code: string | undefined
  readonly extendedCode: string | undefined
  readonly status: number | undefined
  readonly timedOut: boolean
}

/** Clients wrap errors; the innermost message is the most specific. */
function detailsOf(error: unknown): ErrorDetails {
  let found: ErrorDetails = {
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
