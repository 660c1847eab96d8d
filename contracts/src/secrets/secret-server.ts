import { errorMessage, LinkedSignal } from '@svc/plugin-sdk'
import { isLoopback } from '../http/host-names.ts'
import { secretErrors } from './errors.ts'

const MAX_ANSWER_BYTES = 1_048_576

export interface SecretServerAnswer {
  readonly status: number
  /** Parsed body; null if it is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | null
}

/** Requests of a secrets backend to its server. All errors are `SEC_BACKEND_UNAVAILABLE` and name the product. */
export class SecretServer {
  readonly #product: string
  readonly #unreachable = new WeakSet<object>()

  constructor(product: string) {
    this.#product = product
  }

  /** Returns the base URL of an address. Throws for another form, and if requests would send the token unencrypted. */
  baseUrl(address: string): string {
    const url = URL.canParse(address) ? new URL(address) : null
    // A path is added at the end.
    if (url === null || url.username !== '' || url.password !== '' || /[?#]/.test(url.href))
      throw this.unavailable(
        'the address is not a URL, or has a user name, a query or a fragment',
        'write it as https://HOST:PORT'
      )
    if (url.protocol !== 'https:' && !isLoopback(url.hostname))
      throw this.unavailable(`${url.host} would receive the token unencrypted`, 'use https, or a proxy on this machine')
    return url.href.replace(/\/+$/, '')
  }

  /** Sends a request. Throws if there is no answer. Redirects are not followed, because they would forward the token. */
  async send(
    url: string,
    init: { readonly method: string; readonly headers: Readonly<Record<string, string>>; readonly body?: string },
    timeoutMs: number,
    signal?: AbortSignal
  ): Promise<SecretServerAnswer> {
    const limit = new LinkedSignal().after(timeoutMs, () => new Error(`no answer within ${timeoutMs} ms`))
    if (signal !== undefined) limit.with(signal)
    let response: Response | undefined
    try {
      response = await fetch(url, { ...init, redirect: 'manual', signal: limit.signal })
      return { status: response.status, body: parse(await read(response)) }
    } catch (error) {
      const reason = limit.signal.aborted ? errorMessage(limit.signal.reason) : innermost(error)
      const failure = this.unavailable(`${new URL(url).host}: ${reason}`, 'check the address and the network')
      if (response === undefined && !limit.signal.aborted) this.#unreachable.add(failure)
      throw failure
    } finally {
      limit.close()
    }
  }

  /** Whether an error of {@link send} means that no connection was made, for example because of the certificate. */
  isUnreachable(error: unknown): error is Error {
    return typeof error === 'object' && error !== null && this.#unreachable.has(error)
  }

  unavailable(why: string, hint: string): Error {
    return secretErrors.create('SEC_BACKEND_UNAVAILABLE', `${this.#product}: ${why}`, { hint })
  }
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

function parse(text: string): SecretServerAnswer['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as SecretServerAnswer['body'])
      : null
  } catch {
    return null
  }
}

/** Errors of `fetch` have the reason in their cause. */
function innermost(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  return errorMessage(cause instanceof Error ? cause : error)
}
