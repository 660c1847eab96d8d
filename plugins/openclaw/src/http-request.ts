import { skillsGatewayErrors } from '@svc/contracts'
import { isSvcError, withTimeout } from '@svc/plugin-sdk'
import { conceal, shownAddress } from './conceal.ts'

export interface HttpRequest {
  readonly url: string
  /** Sent as JSON with POST; without a body, the request is a GET. */
  readonly body?: unknown
  readonly token: string | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export interface HttpResponse {
  readonly status: number
  readonly text: string
  /** True if the content type is JSON. */
  readonly isJson: boolean
}

/** Maximum size of a response body. */
const MAX_BODY_BYTES = 16 * 2 ** 20

/** Maximum characters of a response body in an error message. */
const MAX_REASON_CHARS = 200

/**
 * Makes a request. Throws `SKG_UNREACHABLE`, `SKG_TIMEOUT`, and `SKG_ANSWER_INVALID` for a body above the limit. Returns
 * responses of any status.
 */
export async function sendRequest({ url, body, token, timeoutMs, signal }: HttpRequest): Promise<HttpResponse> {
  const address = shownAddress(url)
  const request = async (signal: AbortSignal): Promise<HttpResponse> => {
    try {
      const response = await fetch(url, {
        signal,
        headers: {
          accept: 'application/json, text/plain;q=0.9, */*;q=0.5',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' })
        },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) })
      })
      const text = await textOf(response, address)
      const isJson = /\bjson\b/i.test(response.headers.get('content-type') ?? '')
      return { status: response.status, text, isJson }
    } catch (error) {
      if (isSvcError(error)) throw error
      // The message may contain the full URL.
      throw unreachable(address, reasonOf(error).replaceAll(url, address), token)
    }
  }
  const error = (): Error => skillsGatewayErrors.create('SKG_TIMEOUT', `${address} took longer than ${timeoutMs} ms`)
  return withTimeout(timeoutMs, request, { signal, error })
}

/** Throws for a status outside 2xx: `SKG_UNAUTHORIZED`, or `SKG_REFUSED` with the start of the body. */
export function assertAccepted(url: string, { status, text }: HttpResponse, token: string | undefined): void {
  if (status >= 200 && status < 300) return
  const address = shownAddress(url)
  const reason = conceal(text.trim(), token).slice(0, MAX_REASON_CHARS)
  const message = `${address} returned HTTP status ${status}${reason === '' ? '' : `: ${reason}`}`
  if (status === 401 || status === 403) throw unauthorized(message)
  throw skillsGatewayErrors.create('SKG_REFUSED', message, { data: { status } })
}

export function unreachable(address: string, reason: string, token: string | undefined): Error {
  return skillsGatewayErrors.create('SKG_UNREACHABLE', `${address}: ${conceal(reason, token)}`, {
    hint: 'start the gateway, or set SVC_EXTGW_URL and SVC_EXTGW_WS_URL; svc openclaw config shows its addresses'
  })
}

export function unauthorized(message: string): Error {
  return skillsGatewayErrors.create('SKG_UNAUTHORIZED', message, {
    at: { path: 'plugins.openclaw.token' },
    hint: 'set SVC_EXTGW_TOKEN, or token in [plugins.openclaw], to a valid token of the gateway'
  })
}

/** Returns the reason of a network error in one line. An error of `fetch` has it in its cause. */
export function reasonOf(error: unknown): string {
  const { cause, message } = error as { readonly cause?: unknown; readonly message?: string }
  const inner = (cause ?? error) as { readonly code?: string; readonly message?: string }
  if (inner.code === 'ECONNREFUSED') return 'connection refused'
  return inner.message || inner.code || message || String(error)
}

async function textOf(response: Response, address: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) {
      throw skillsGatewayErrors.create('SKG_ANSWER_INVALID', `${address} returned more than ${MAX_BODY_BYTES} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length).toString('utf8')
}
