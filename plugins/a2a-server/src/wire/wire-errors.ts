import { A2AError, RequestMalformedError, restStatusFor, toRestErrorBody } from '@a2a-js/sdk/errors'
import { errorMessage, isSvcError, type Logger, type SvcError } from '@svc/plugin-sdk'

const CALLBACK_CODES: ReadonlySet<string> = new Set(['A2S_CALLBACK_DENIED', 'A2S_CALLBACK_FAILED'])

/** Errors whose text clients may see: they name what the client can change, or what it can repeat. */
const SHOWN = /^(?:A2S|CRD|MSC)_/

/**
 * Returns an error as an error of the protocol. Errors of svc keep their code, as `cause`. Of an unexpected error, only
 * the log has the text.
 */
export function toA2aError(error: unknown, log: Pick<Logger, 'error'>): A2AError {
  if (error instanceof A2AError) return error
  // The client chose the webhook.
  if (isSvcError(error) && CALLBACK_CODES.has(error.code))
    return new RequestMalformedError({ message: error.message, cause: error })
  if (isSvcError(error) && SHOWN.test(error.code)) {
    const hint = error.code === 'CRD_UNAVAILABLE' ? '; send the message again with the same messageId' : ''
    return new A2AError({ message: `${error.message}${hint}`, cause: error, metadata: { code: error.code } })
  }
  log.error('a call of the A2A protocol failed', { error, reason: errorMessage(error) })
  return new A2AError({ message: 'the call failed; the log of the server has the reason' })
}

/** Returns the code of an error for the access record. */
export function codeOf(error: A2AError): string {
  return causeOf(error)?.code ?? `A2A_${error.reason}`
}

/** Returns the HTTP status of an error in the REST binding. */
export function httpStatusOf(error: A2AError): number {
  const cause = error instanceof RequestMalformedError ? undefined : causeOf(error)
  return cause?.status ?? restStatusFor(error)
}

export function restBodyOf(error: A2AError, status: number): string {
  return JSON.stringify(toRestErrorBody(error, status))
}

function causeOf({ cause }: Error): SvcError | undefined {
  return isSvcError(cause) ? cause : undefined
}
