import { secretErrors } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'

const MAX_ANSWER_BYTES = 1_048_576
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

export interface Answer {
  readonly status: number
  /** Parsed body; null if it is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | null
}

/** Returns the base URL of a server. Throws `SEC_BACKEND_UNAVAILABLE` if requests would be sent unencrypted. */
export function baseUrl(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null
  if (url === null || url.username !== '' || url.password !== '')
    throw unavailable('the address is not a URL without user name', 'write it as https://HOST:PORT')
  if (url.protocol !== 'https:' && !LOOPBACK.test(url.hostname))
    throw unavailable(`${url.host} would receive the token unencrypted`, 'use https, or a proxy on this machine')
  return url.href.replace(/\/+$/, '')
}

/** Sends a request. Throws `SEC_BACKEND_UNAVAILABLE` if there is no answer. Redirects would forward the token: an error. */
export async function send(
  url: string,
  init: { readonly method: string; readonly headers: Readonly<Record<string, string>>; readonly body?: string },
  timeoutMs: number,
  signal?: AbortSignal
): Promise<Answer> {
  const limit = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal])
    })
    return { status: response.status, body: parse(await read(response)) }
  } catch (error) {
    const cause = limit.aborted ? `no answer within ${timeoutMs} ms` : innermost(error)
    throw unavailable(`${new URL(url).host}: ${cause}`, 'check the address and the network')
  }
}

export function unavailable(why: string, hint: string): Error {
  return secretErrors.create('SEC_BACKEND_UNAVAILABLE', `Infisical: ${why}`, { hint })
}

async function read(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    parts.push(part as Uint8Array)
    bytes += (part as Uint8Array).length
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`an answer of more than ${MAX_ANSWER_BYTES} bytes`)
  }
  return Buffer.concat(parts).toString('utf8')
}

function parse(text: string): Answer['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer['body']) : null
  } catch {
    return null
  }
}

/** Errors of `fetch` have the reason in their cause. */
function innermost(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  return errorMessage(cause instanceof Error ? cause : error)
}
