import { errorMessage, isSvcError, withTimeout } from '@svc/plugin-sdk'
import { meshNodeErrors } from './errors.ts'
import { httpStatusError } from './http-status.ts'

/** Maximum bytes of an answer. A node record has about 1 kB, so that about 16,000 nodes fit. */
const MAX_ANSWER_BYTES = 16 * 2 ** 20
/** Statuses after which another control plane may answer: a proxy without a server, or one that stops. */
const TRY_NEXT: ReadonlySet<number> = new Set([502, 503, 504])

export interface HttpCall {
  readonly method: 'GET' | 'POST'
  /** Path and query below the base URL. */
  readonly path: string
  readonly body?: unknown
  readonly timeoutMs: number
  readonly headers?: Readonly<Record<string, string>>
  /** Statuses outside 2xx that the caller handles. */
  readonly accept?: readonly number[]
  readonly signal?: AbortSignal | undefined
  /** Returns the bearer token, freshly for each attempt, since a JWT is valid once. */
  readonly bearer: () => string | null | Promise<string | null>
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The server's clock in Unix milliseconds when it answered, to the second; null if it sends no date. */
  readonly serverMs: number | null
}

/**
 * Calls one of several equal servers. Begins with the one that answered last, and tries each once if the previous one is
 * not reachable or unavailable. `fetch` keeps connections open between calls.
 */
export class HttpServers {
  readonly #urls: readonly string[]
  #preferred = 0

  /** @param urls Base URLs without a trailing slash, at least one. */
  constructor(urls: readonly string[]) {
    this.#urls = urls
  }

  get urls(): readonly string[] {
    return this.#urls
  }

  /** Base URL of the server that answered last. */
  get current(): string {
    return this.#urls[this.#preferred] as string
  }

  /**
   * Returns the answer if its status is 2xx or accepted. Throws `MND_HTTP_STATUS`, `MND_TIMEOUT`, `MND_UNREACHABLE` and
   * `MND_ANSWER_INVALID`; the error of the last server, if all were tried.
   */
  async call(call: HttpCall): Promise<HttpAnswer> {
    const start = this.#preferred
    for (let tried = 0; ; tried += 1) {
      const index = (start + tried) % this.#urls.length
      const isLast = tried === this.#urls.length - 1
      try {
        const answer = await this.#once(this.#urls[index] as string, call)
        if (isLast || !TRY_NEXT.has(answer.status)) {
          this.#preferred = index
          return checked(call, answer)
        }
      } catch (error) {
        if (isLast || call.signal?.aborted || !isSvcError(error) || !isConnectionError(error.code)) throw error
      }
    }
  }

  async #once(base: string, call: HttpCall): Promise<HttpAnswer> {
    const { method, path, body, timeoutMs, signal } = call
    const bearer = await call.bearer()
    const context = `${method} ${path.split('?')[0]}`
    const request = async (limit: AbortSignal): Promise<HttpAnswer> => {
      try {
        const response = await fetch(`${base}${path}`, {
          method,
          signal: limit,
          redirect: 'error',
          headers: {
            accept: 'application/json, text/plain;q=0.9',
            ...call.headers,
            ...(bearer === null ? null : { authorization: `Bearer ${bearer}` }),
            ...(body === undefined ? null : { 'content-type': 'application/json' })
          },
          ...(body === undefined ? null : { body: JSON.stringify(body) })
        })
        const text = conceal(await textOf(response, context), bearer)
        const date = Date.parse(response.headers.get('date') ?? '')
        return { status: response.status, headers: response.headers, text, serverMs: Number.isNaN(date) ? null : date }
      } catch (error) {
        if (isSvcError(error) || limit.aborted) throw error
        throw unreachable(base, context, conceal(reasonOf(error), bearer))
      }
    }
    const error = () =>
      meshNodeErrors.create('MND_TIMEOUT', `${context} at ${base}: no answer within ${timeoutMs} ms`, {
        hint: 'check the control plane, or raise [orchestrator] mesh_http_timeout_ms'
      })
    return withTimeout(timeoutMs, request, { signal, error })
  }
}

function checked(call: HttpCall, answer: HttpAnswer): HttpAnswer {
  const { status, text } = answer
  if ((status >= 200 && status < 300) || call.accept?.includes(status)) return answer
  throw httpStatusError(status, `${call.method} ${call.path.split('?')[0]}`, text)
}

function isConnectionError(code: string): boolean {
  return code === 'MND_UNREACHABLE' || code === 'MND_TIMEOUT'
}

function unreachable(base: string, context: string, reason: string): Error {
  return meshNodeErrors.create('MND_UNREACHABLE', `${context} at ${base}: ${reason}`, {
    hint: 'start the control plane with svc mesh serve, or correct control_url in [mesh]'
  })
}

/** Returns the reason of a failed `fetch`, which has it in its cause. */
function reasonOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown }
  const inner = (cause ?? error) as { readonly code?: string }
  return inner.code === 'ECONNREFUSED' ? 'connection refused' : errorMessage(inner)
}

/** Removes a token that the server repeats. */
function conceal(text: string, bearer: string | null): string {
  return bearer === null || bearer === '' ? text : text.replaceAll(bearer, '***')
}

async function textOf(response: Response, context: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_ANSWER_BYTES)
      throw meshNodeErrors.create(
        'MND_ANSWER_INVALID',
        `${context}: the answer has more than ${MAX_ANSWER_BYTES} bytes`,
        {
          hint: 'set SVC_MESH_SERVER_STALE_PRUNE_MS of the control plane, so that it does not list nodes that are gone'
        }
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length).toString('utf8')
}
