import { isLoopback } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { errors } from '../errors.ts'
import { hostOf } from './source.ts'

const MAX_REDIRECTS = 5
const JSON_LIMIT_BYTES = 8 << 20

/** Token, and the origin that may receive it. */
export interface OriginToken {
  readonly origin: string
  readonly token: string
}

/**
 * Sends a GET request and follows at most five redirects. The token is sent only to its origin. A redirect from https
 * to http is refused. Any status is returned.
 *
 * Throws `MSV_PULL_FAILED` for a wrong redirect, or the error of the connection.
 */
export async function get(
  url: URL,
  headers: Readonly<Record<string, string>>,
  token: OriginToken | undefined,
  signal: AbortSignal
): Promise<Response> {
  let target = url
  for (let redirects = 0; ; redirects++) {
    const authorization = token?.origin === target.origin ? { authorization: `Bearer ${token.token}` } : {}
    // Compressed answers cannot be resumed.
    const sent = { 'accept-encoding': 'identity', ...headers, ...authorization }
    const response = await fetch(target.href, { headers: sent, redirect: 'manual', signal })
    const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get('location') : null
    if (location === null) return response
    await response.body?.cancel()
    if (redirects === MAX_REDIRECTS) throw failed(url, `it redirects more than ${MAX_REDIRECTS} times`)
    if (!URL.canParse(location, target.href)) throw failed(url, 'it redirects to an invalid URL')
    const next = new URL(location, target)
    const isSafe =
      next.protocol === 'https:' || (next.protocol === 'http:' && isLoopback(hostOf(next)) && isLoopback(hostOf(url)))
    if (!isSafe) throw failed(url, `it redirects to ${next.protocol}//${next.host}, which is not https`)
    target = next
  }
}

/** Returns the JSON object of a response of at most 8 MiB. Throws `MSV_PULL_FAILED`, `MSV_PULL_NOT_FOUND`. */
export async function getJson(
  url: URL,
  accept: string,
  token: OriginToken | undefined,
  signal: AbortSignal
): Promise<Record<string, unknown>> {
  let response: Response
  try {
    response = await get(url, { accept }, token, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw connection(url, error)
  }
  await refuseStatus(url, response)
  try {
    const value: unknown = JSON.parse(await textOf(response))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch (error) {
    signal.throwIfAborted()
    throw failed(url, `its answer is not JSON: ${errorMessage(error)}`)
  }
  throw failed(url, 'its answer is not a JSON object')
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > JSON_LIMIT_BYTES) throw new Error(`it is longer than ${JSON_LIMIT_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Throws `MSV_PULL_NOT_FOUND` or `MSV_PULL_FAILED` for a status that a retry will not change, or any other failure. */
export async function refuseStatus(url: URL, response: Response): Promise<void> {
  const { status } = response
  if (status >= 200 && status < 300) return
  await response.body?.cancel()
  if (status === 404) throw errors.create('MSV_PULL_NOT_FOUND', `${shownUrl(url)} does not exist`)
  if (status === 401 || status === 403) {
    throw errors.create('MSV_PULL_NOT_FOUND', `${shownUrl(url)} does not exist, or needs access that you do not have`, {
      hint: 'For Hugging Face, accept the licence of the model on its page, and set HF_TOKEN.'
    })
  }
  throw failed(url, `it answered with HTTP status ${status}`)
}

export function failed(url: URL, reason: string, cause?: unknown): Error {
  return errors.create('MSV_PULL_FAILED', `${shownUrl(url)} cannot be downloaded: ${reason}`, {
    ...(cause === undefined ? {} : { cause }),
    hint: 'Run the command again: it continues where it stopped.'
  })
}

function connection(url: URL, error: unknown): Error {
  const { code } = error as { readonly code?: unknown }
  if (typeof code === 'string' && code.startsWith('MSV_')) return error as Error
  return failed(url, reasonOf(error), error)
}

/** Returns the reason of a failed connection, with its cause. */
export function reasonOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown }
  return cause instanceof Error ? `${errorMessage(error)} (${cause.message})` : errorMessage(error)
}

/** Returns a URL without its query, which may hold a signature. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}
