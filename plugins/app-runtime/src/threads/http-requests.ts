import { defined } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import type { BridgeAnswers, BridgeCall } from './bridge.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly body?: string
  /** Media type of the body. */
  readonly type?: string
}

export interface HttpResponse {
  readonly status: number
  readonly text: string
}

/** Maximum size of a response body. */
const MAX_BYTES = 32 * 2 ** 20

/** Handles `http.request`: makes HTTP requests for programs. Throws `RUN_HTTP_FAILED`. */
export const HTTP_ANSWERS: BridgeAnswers = {
  'http.request': async (request: HttpRequest, { signal }: BridgeCall): Promise<HttpResponse> => {
    const { method, url, body, type } = request
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw failed(url, 'not an HTTP URL')
    try {
      const response = await fetch(url, {
        method,
        signal,
        ...defined({ body }),
        headers: type === undefined ? {} : { 'content-type': type }
      })
      return { status: response.status, text: await textOf(response, url) }
    } catch (error) {
      const { cause, message } = error as { readonly cause?: { readonly message?: string }; readonly message: string }
      throw (error as { code?: string }).code === 'RUN_HTTP_FAILED' ? error : failed(url, cause?.message ?? message)
    }
  }
}

async function textOf(response: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_BYTES) throw failed(url, `the response is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length).toString('utf8')
}

/** Creates an error with the URL, without user, password and query, which may be secret. */
function failed(url: string, reason: string): Error {
  const shown = URL.canParse(url) ? new URL(url) : null
  const address = shown === null ? url.split('?', 1)[0] : `${shown.protocol}//${shown.host}${shown.pathname}`
  return runErrors.create('RUN_HTTP_FAILED', `${address}: ${reason}`)
}
