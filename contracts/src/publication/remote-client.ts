import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage } from '@svc/plugin-sdk'
import { isLoopback } from '../http/host-names.ts'
import { isRemoteFailure, RemoteFailure } from './remote-failure.ts'

const MAX_ANSWER_BYTES = 4 * 1024 * 1024
const FIRST_DELAY_MS = 350
const MAX_DELAY_MS = 8_000
const SILENCE_MS = 30_000
/** Time for the body of an answer, so that a server that sends a byte at a time does not hold the request. */
const MAX_ANSWER_MS = 120_000
/** A longer `Retry-After` is left to the queue. */
const MAX_WAIT_MS = 8_000
/** A longer one is not believed: the largest windows of rate limits are days. */
const MAX_RETRY_AFTER_MS = 86_400_000

export interface RemoteRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | RemoteFile
  /**
   * Whether the request may be sent again if it is unknown whether an earlier one had its effect. Default: true, except
   * for POST and PATCH.
   */
  readonly repeatable?: boolean
  /** Statuses other than 2xx that are returned instead of thrown, such as 404. */
  readonly accept?: readonly number[]
  readonly onSent?: (bytes: number) => void
  /** Path in records and fingerprints, for an address whose path is a credential. Default: the path of the address. */
  readonly recordedPath?: string
}

/** A file that is streamed as the body. */
export interface RemoteFile {
  readonly path: string
  readonly bytes: number
  /**
   * SHA3-256 as hex. If the content read differs, the request is cut off before its last bytes, and fails with the code
   * `file_changed`.
   */
  readonly sha3_256?: string
  /** Bytes before and after the file, such as the rest of a form. Not part of `bytes` and of the hash. */
  readonly before?: Uint8Array
  readonly after?: Uint8Array
}

export interface RemoteAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parses the body. Throws {@link RemoteFailure} with code `answer_invalid`. */
  json(): unknown
}

/** Hashes of one exchange, instead of its bodies and headers. */
export interface RemoteExchange {
  readonly at_ms: number
  readonly method: string
  /** Origin and path, without the query. */
  readonly url: string
  readonly http_status: number | null
  readonly request_fingerprint: string
  readonly response_fingerprint: string | null
  readonly error_class: string | null
}

export interface RemoteClientOptions {
  /** Name of the service in error messages, such as `Zenodo`. */
  readonly service: string
  readonly signal: AbortSignal
  /** Attempts of a request, 1 to 10; default 3. */
  readonly attempts?: number
  /** Milliseconds without data after which a request fails; default 30,000. */
  readonly silenceMs?: number
  /** Milliseconds for the body of an answer; default 120,000. */
  readonly answerMs?: number
  /** First delay between attempts in milliseconds, which doubles up to 8 seconds; default 350. */
  readonly firstDelayMs?: number
  /** Called before each attempt. If it throws, nothing is sent. */
  readonly beforeAttempt?: (method: RemoteRequest['method']) => void | Promise<void>
  /** Receives each exchange, including failed ones. If it throws, `send` throws that. */
  readonly record?: (exchange: RemoteExchange) => void
}

/**
 * HTTP client of archives and channels. Repeats requests that failed with 5xx, 429 or a network error, waits for a
 * short `Retry-After`, follows no redirects (they could send a token elsewhere), limits answers to 4 MiB and reports
 * hashes of each exchange. Its errors contain neither bodies nor headers nor queries.
 */
export class RemoteClient {
  readonly #options: RemoteClientOptions

  constructor(options: RemoteClientOptions) {
    this.#options = options
  }

  /** Returns a client with the same limits for another service name. */
  named(service: string): RemoteClient {
    return new RemoteClient({ ...this.#options, service })
  }

  /** Sends a request. Throws {@link RemoteFailure}, and the reason of the signal. */
  async send(request: RemoteRequest): Promise<RemoteAnswer> {
    const { attempts = 3, firstDelayMs = FIRST_DELAY_MS, signal, beforeAttempt } = this.#options
    const url = this.#checkedUrl(request.url)
    checkHeaders(this.#options.service, request.headers)
    const isRepeatable = request.repeatable ?? (request.method !== 'POST' && request.method !== 'PATCH')
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      await beforeAttempt?.(request.method)
      signal.throwIfAborted()
      try {
        return await this.#once(request, url)
      } catch (error) {
        if (!(error instanceof RemoteFailure) || !error.retryable || attempt >= attempts) throw error
        if (error.outcomeUnknown && !isRepeatable) throw error
        const waitMs = Math.max(error.retryAfterMs ?? 0, Math.min(firstDelayMs * 2 ** (attempt - 1), MAX_DELAY_MS))
        if (waitMs > MAX_WAIT_MS) throw error
        await delay(waitMs, undefined, { signal })
      }
    }
  }

  async #once(request: RemoteRequest, url: URL): Promise<RemoteAnswer> {
    const { service, signal, silenceMs = SILENCE_MS, answerMs = MAX_ANSWER_MS, record } = this.#options
    const { method, headers, body, accept = [], onSent } = request
    const at = Date.now()
    const recordedUrl = `${url.origin}${request.recordedPath ?? url.pathname}`
    const hash = createHash('sha3-256').update(`${method} ${recordedUrl}\n`)
    const watchdog = new AbortController()
    let timer: NodeJS.Timeout | undefined
    let answerTimer: NodeJS.Timeout | undefined
    let isOver = false
    let isReported = false
    let isRefused = false
    const expire = (problem: string): void => watchdog.abort(new DOMException(problem, 'TimeoutError'))
    const feed = (): void => {
      clearTimeout(timer)
      // A body may be read on after its request failed.
      if (isOver) return
      timer = setTimeout(expire, silenceMs, `no data for ${silenceMs} ms`)
    }
    const abort = (): void => watchdog.abort(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    const report = (http_status: number | null, response: string | null, error_class: string | null): void => {
      if (isReported) return
      isReported = true
      try {
        record?.({
          at_ms: at,
          method,
          url: recordedUrl,
          http_status,
          request_fingerprint: hash.copy().digest('hex'),
          response_fingerprint: response === null ? null : createHash('sha3-256').update(response).digest('hex'),
          error_class
        })
      } catch (error) {
        isRefused = true
        throw error
      }
    }
    feed()
    try {
      const sent = bodyOf(body, bytes => hash.update(bytes), feed, onSent)
      const response = await fetch(url, {
        method,
        headers: {
          'user-agent': 'svc',
          ...(isFile(body) ? { 'content-length': String(lengthOf(body)) } : {}),
          ...headers
        },
        // With another value `fetch` keeps the whole body in memory, to send it again.
        redirect: isFile(body) ? 'error' : 'manual',
        signal: watchdog.signal,
        ...(sent === undefined ? {} : { body: sent as unknown as string, duplex: 'half' })
      })
      answerTimer = setTimeout(expire, answerMs, `the answer took longer than ${answerMs} ms`)
      const text = await textOf(response, service, feed)
      const failure = failureOf(service, response, accept)
      report(response.status, text, failure?.failureClass ?? null)
      if (failure !== null) throw failure
      return { status: response.status, headers: response.headers, text, json: () => parse(service, text) }
    } catch (error) {
      // An error of `record` is no failure of the network, after which the request would be sent again.
      if (isRefused) throw error
      const failure = isRemoteFailure(error) ? error : (error as Error).cause
      if (isRemoteFailure(failure)) {
        report(failure.httpStatus ?? null, null, failure.failureClass)
        throw failure
      }
      if (signal.aborted) {
        report(null, null, 'transient')
        throw signal.reason
      }
      const problem = networkFailure(service, error)
      report(null, null, problem.failureClass)
      throw problem
    } finally {
      isOver = true
      clearTimeout(timer)
      clearTimeout(answerTimer)
      signal.removeEventListener('abort', abort)
    }
  }

  #checkedUrl(text: string): URL {
    const refuse = (problem: string) =>
      new RemoteFailure(`${this.#options.service}: ${problem}; use https://, or http:// with a loopback address`, {
        failureClass: 'config',
        code: 'url_refused'
      })
    if (!URL.canParse(text)) throw refuse('the address cannot be parsed')
    const url = new URL(text)
    if (url.username !== '' || url.password !== '') throw refuse('the address contains a user or password')
    if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return url
    throw refuse(`${url.protocol}//${url.host} is not HTTPS`)
  }
}

/** Refuses headers that `fetch` refuses with an error that repeats the value, which may be a credential. */
function checkHeaders(service: string, headers: RemoteRequest['headers'] = {}): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers([[name, value]])
    } catch {
      throw new RemoteFailure(
        `${service}: the header ${name} has characters that HTTP does not allow; check the credentials for line breaks`,
        { failureClass: 'config', code: 'header_invalid' }
      )
    }
  }
}

function isFile(body: RemoteRequest['body']): body is RemoteFile {
  return typeof body === 'object' && 'path' in body
}

function lengthOf({ bytes, before, after }: RemoteFile): number {
  return bytes + (before?.length ?? 0) + (after?.length ?? 0)
}

function bodyOf(
  body: RemoteRequest['body'],
  hash: (bytes: string | Uint8Array) => void,
  feed: () => void,
  onSent?: (bytes: number) => void
): string | Uint8Array | AsyncIterable<Uint8Array> | undefined {
  if (body === undefined) return undefined
  if (!isFile(body)) {
    hash(body)
    return body
  }
  return fileChunks(body, hash, feed, onSent)
}

/** Yields the chunks of a file, each after the next one was read, so that a changed file is never sent completely. */
async function* fileChunks(
  { path, sha3_256, before, after }: RemoteFile,
  hash: (bytes: Uint8Array) => void,
  feed: () => void,
  onSent?: (bytes: number) => void
): AsyncIterable<Uint8Array> {
  const content = createHash('sha3-256')
  let sent = 0
  let held: Buffer | null = null
  const send = <Chunk extends Uint8Array>(chunk: Chunk): Chunk => {
    feed()
    hash(chunk)
    return chunk
  }
  if (before !== undefined) yield send(before)
  for await (const chunk of bytesOf(path)) {
    if (held !== null) {
      yield send(held)
      sent += held.length
      onSent?.(sent)
    }
    content.update(chunk)
    held = chunk
  }
  if (sha3_256 !== undefined && content.digest('hex') !== sha3_256)
    throw new RemoteFailure(`${path}: the file changed after it was checked; submit again`, {
      failureClass: 'fatal',
      code: 'file_changed'
    })
  if (held !== null) {
    yield send(held)
    onSent?.(sent + held.length)
  }
  if (after !== undefined) yield send(after)
}

async function* bytesOf(path: string): AsyncIterable<Buffer> {
  try {
    yield* createReadStream(path) as AsyncIterable<Buffer>
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? errorMessage(error)
    throw new RemoteFailure(`${path}: the file cannot be read (${reason}); restore it, then submit again`, {
      failureClass: 'fatal',
      code: 'file_unreadable'
    })
  }
}

async function textOf(response: Response, service: string, feed: () => void): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    feed()
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) {
      throw new RemoteFailure(`${service}: the answer is larger than ${MAX_ANSWER_BYTES} bytes`, {
        failureClass: 'fatal',
        code: 'answer_too_large',
        httpStatus: response.status,
        outcomeUnknown: true
      })
    }
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Returns the failure that a status means, or null. */
function failureOf(service: string, { status, headers }: Response, accept: readonly number[]): RemoteFailure | null {
  if ((status >= 200 && status < 300) || accept.includes(status)) return null
  const retryAfterMs = retryAfter(headers.get('retry-after'))
  const details = { code: `http_${status}`, httpStatus: status, ...(retryAfterMs === null ? {} : { retryAfterMs }) }
  const failed = (failureClass: RemoteFailure['failureClass'], problem: string, outcomeUnknown = false) =>
    new RemoteFailure(`${service}: ${problem}`, { ...details, failureClass, outcomeUnknown })
  if (status === 401 || status === 403)
    return failed('auth', `the server answered ${status}; check the credentials and their rights`)
  if (status === 429) return failed('rate_limit', 'the server limits the rate of requests (429); try again later')
  if (status >= 500) return failed('transient', `the server answered ${status}; try again later`, true)
  if (status >= 300 && status < 400)
    return failed('config', `the server answered with a redirect (${status}); check the base address`)
  return failed('fatal', `the server refused the request with ${status}`)
}

function networkFailure(service: string, error: unknown): RemoteFailure {
  const { name, cause } = error as { name?: string; cause?: NodeJS.ErrnoException }
  if (cause?.message === 'unexpected redirect')
    return new RemoteFailure(`${service}: the server answered with a redirect; check the base address`, {
      failureClass: 'config',
      code: 'redirect'
    })
  const reason =
    name === 'TimeoutError'
      ? errorMessage(error)
      : (cause?.code ?? (cause === undefined ? errorMessage(error) : errorMessage(cause)))
  // Nothing was sent if the connection was never made.
  const isUnsent = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(cause?.code ?? '')
  return new RemoteFailure(`${service}: ${reason}; check the connection`, {
    failureClass: 'transient',
    code: name === 'TimeoutError' ? 'timeout' : 'network',
    outcomeUnknown: !isUnsent
  })
}

/** Returns the milliseconds of a `Retry-After` header, at most a day: seconds or a date (RFC 9110, 10.2.3). */
function retryAfter(value: string | null): number | null {
  if (value === null) return null
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - Date.now()
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS)
}

function parse(service: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RemoteFailure(`${service}: the answer is not JSON`, {
      failureClass: 'fatal',
      code: 'answer_invalid',
      outcomeUnknown: true
    })
  }
}
