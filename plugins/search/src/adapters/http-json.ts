import { isSvcError } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'

const MAX_BODY_BYTES = 4 * 2 ** 20

export interface JsonRequest {
  /** Name of the server in errors. */
  readonly server: string
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON with POST; without a body, the request is a GET. */
  readonly body?: unknown
  readonly signal: AbortSignal
}

/**
 * Requests JSON. Redirects are refused, since they could pass a key to another server. Throws
 * `SRH_SERVER_UNREACHABLE` and `SRH_SERVER_INVALID`; their messages contain neither the query nor a key.
 */
export async function requestJson({ server, url, headers, body, signal }: JsonRequest): Promise<unknown> {
  if (url.username !== '' || url.password !== '')
    throw searchErrors.create('SRH_SERVER_UNREACHABLE', `${server} at ${url.origin}: its address has a user name`, {
      hint: `remove the user name and password from the address of ${server} in [plugins.search]`
    })
  let text: string
  try {
    const response = await fetch(url, {
      signal,
      redirect: 'error',
      headers: {
        accept: 'application/json',
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' })
      },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) })
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw searchErrors.create(
        'SRH_SERVER_UNREACHABLE',
        `${server} at ${url.origin}: HTTP status ${response.status}`,
        {
          data: { status: response.status },
          hint: `check the address and the key of ${server} in [plugins.search]`
        }
      )
    }
    text = await boundedText(response, server)
  } catch (error) {
    signal.throwIfAborted()
    if (isSvcError(error)) throw error
    throw searchErrors.create('SRH_SERVER_UNREACHABLE', `${server} at ${url.origin}: ${networkReason(error)}`, {
      hint: `start ${server}, or remove its address from [plugins.search]`
    })
  }
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw searchErrors.create('SRH_SERVER_INVALID', `${server} at ${url.origin}: the answer is not JSON`)
  }
}

/** Returns the objects of an array in an answer. Throws `SRH_SERVER_INVALID` if there is none. */
export function objectsIn(answer: unknown, field: string, server: string): readonly Record<string, unknown>[] {
  const list = (answer as Record<string, unknown> | null)?.[field]
  if (!Array.isArray(list))
    throw searchErrors.create('SRH_SERVER_INVALID', `${server}: the answer has no list ${field}`)
  return list.filter(each => typeof each === 'object' && each !== null && !Array.isArray(each))
}

export function textIn(object: Record<string, unknown>, field: string): string {
  const value = object[field]
  return typeof value === 'string' ? value : ''
}

/** Returns a finite number; null for anything else. */
export function numberIn(object: Record<string, unknown>, field: string): number | null {
  const value = object[field]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

async function boundedText(response: Response, server: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_BODY_BYTES)
      throw searchErrors.create('SRH_SERVER_INVALID', `${server}: the answer exceeds ${MAX_BODY_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length).toString('utf8')
}

/** The message of `fetch` may contain the URL with the query, or a header with the key; the code of its cause does not. */
function networkReason(error: unknown): string {
  const { cause } = error as { readonly cause?: { readonly code?: string; readonly message?: string } }
  if (cause === undefined) return 'the request is invalid; its key may have characters that no header can have'
  if (cause.code === 'ECONNREFUSED') return 'connection refused'
  return cause.message === 'unexpected redirect'
    ? 'redirects are not followed'
    : (cause.code ?? 'the connection failed')
}
