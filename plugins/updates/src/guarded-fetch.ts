import { isLoopback } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { updateErrors } from './errors.ts'
import type { Credentials } from './release.ts'

const MAX_REDIRECTS = 5

export interface FetchOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly credentials: Credentials | null
  /** Milliseconds to wait for the answer, and for each further piece of it. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface FetchedBody {
  readonly status: number
  readonly headers: Headers
  /** Pieces of the body. Throws `UPD_DOWNLOAD_FAILED`. */
  readonly chunks: AsyncIterable<Uint8Array>
  /** Ends the connection. Call it when the chunks are not read to the end. */
  cancel(): Promise<void>
}

/**
 * Fetches a URL and follows at most five redirects. Each URL must be HTTPS, or HTTP on loopback. Throws
 * `UPD_URL_REFUSED` and `UPD_DOWNLOAD_FAILED`; messages contain no query, which may hold a signature.
 */
export async function guardedFetch(first: string, options: FetchOptions): Promise<FetchedBody> {
  const { headers = {}, credentials, timeoutMs, signal } = options
  let url = checkedUrl(first)
  for (let hop = 0; ; hop++) {
    const watchdog = new Watchdog(timeoutMs, signal)
    try {
      const response = await fetch(url.href, {
        headers: {
          'user-agent': 'svc',
          ...headers,
          ...(url.origin === credentials?.origin ? credentials.headers : {})
        },
        redirect: 'manual',
        signal: watchdog.signal
      })
      const location = response.headers.get('location')
      if (response.status < 300 || response.status > 399 || location === null)
        return {
          status: response.status,
          headers: response.headers,
          chunks: chunksOf(response, url, watchdog),
          cancel: async () => {
            watchdog.end()
            await response.body?.cancel().catch(() => {})
          }
        }
      await response.body?.cancel().catch(() => {})
      watchdog.end()
      if (hop >= MAX_REDIRECTS) throw failed(url, `more than ${MAX_REDIRECTS} redirects`)
      if (!URL.canParse(location, url.href)) throw failed(url, 'a redirect to something that is not a URL')
      url = checkedUrl(new URL(location, url).href)
    } catch (error) {
      watchdog.end()
      signal.throwIfAborted()
      throw asFailure(error, url, timeoutMs)
    }
  }
}

/** Fetches a text of limited size; null for status 404. Throws `UPD_DOWNLOAD_FAILED` for others than 200. */
export async function fetchText(
  url: string,
  maxBytes: number,
  options: FetchOptions
): Promise<{ readonly text: string | null }> {
  const answer = await guardedFetch(url, options)
  if (answer.status === 404) {
    await answer.cancel()
    return { text: null }
  }
  await refuseStatus(answer, url)
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.chunks) {
    bytes += chunk.length
    if (bytes > maxBytes) {
      await answer.cancel()
      throw failed(checkedUrl(url), `the answer is larger than ${maxBytes} bytes`)
    }
    parts.push(chunk)
  }
  return { text: Buffer.concat(parts).toString('utf8') }
}

/** Throws `UPD_DOWNLOAD_FAILED` unless the status is 200. */
export async function refuseStatus(answer: FetchedBody, url: string): Promise<void> {
  if (answer.status === 200) return
  await answer.cancel()
  const hint =
    answer.status === 401 || answer.status === 403 || answer.status === 429
      ? 'set a token for the provider, or try again later'
      : undefined
  throw failed(checkedUrl(url), `the server answered ${answer.status}`, hint)
}

/** Parses a URL. Throws `UPD_URL_REFUSED` unless it is HTTPS, or HTTP on loopback, without user and password. */
export function checkedUrl(text: string): URL {
  const refuse = (problem: string) =>
    updateErrors.create('UPD_URL_REFUSED', problem, { hint: 'use https://, or http:// with a loopback address' })
  if (!URL.canParse(text)) throw refuse('a URL of a release cannot be parsed')
  const url = new URL(text)
  const place = shown(url)
  if (url.username !== '' || url.password !== '') throw refuse(`${place} contains a user or password`)
  if (url.protocol === 'https:') return url
  if (url.protocol !== 'http:') throw refuse(`${place} is not HTTPS`)
  if (!isLoopback(url.hostname)) throw refuse(`${place} is plain HTTP on another machine`)
  return url
}

export function failed(url: URL, problem: string, hint?: string) {
  return updateErrors.create('UPD_DOWNLOAD_FAILED', `${shown(url)}: ${problem}`, {
    hint: hint ?? 'check the connection, and the settings of plugins.updates'
  })
}

function shown({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`
}

async function* chunksOf(response: Response, url: URL, watchdog: Watchdog): AsyncGenerator<Uint8Array> {
  try {
    if (response.body === null) return
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      watchdog.feed()
      yield chunk
    }
  } catch (error) {
    watchdog.throwIfCancelled()
    throw asFailure(error, url, watchdog.timeoutMs)
  } finally {
    watchdog.end()
  }
}

function asFailure(error: unknown, url: URL, timeoutMs: number) {
  if (isSvcError(error)) return error
  if ((error as Error).name === 'TimeoutError') return failed(url, `no data for ${timeoutMs} ms`)
  const { cause } = error as { cause?: NodeJS.ErrnoException }
  return failed(url, cause?.code ?? (cause === undefined ? errorMessage(error) : errorMessage(cause)))
}

/** Aborts its signal with a `TimeoutError` if it is not fed for the time limit, or with the outer signal. */
class Watchdog {
  readonly timeoutMs: number
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #abort = (): void => this.#controller.abort(this.#outer.reason)
  #timer: NodeJS.Timeout | undefined

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.timeoutMs = timeoutMs
    this.#outer = outer
    outer.throwIfAborted()
    outer.addEventListener('abort', this.#abort, { once: true })
    this.feed()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  feed(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(new DOMException('no data', 'TimeoutError')), this.timeoutMs)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#abort)
  }

  throwIfCancelled(): void {
    this.#outer.throwIfAborted()
  }
}
