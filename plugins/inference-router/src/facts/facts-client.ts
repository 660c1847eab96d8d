import { errorMessage } from '@svc/plugin-sdk'

/** Maximum size of a response with facts. */
const MAX_BYTES = 4_194_304

/** A request for facts that failed. */
export class FactsError extends Error {
  override readonly name = 'FactsError'
  /** True if no process listens at the address, so that the server has ended. */
  readonly isDown: boolean
  /** HTTP status; null without a response. */
  readonly status: number | null

  constructor(message: string, { isDown = false, status = null }: { isDown?: boolean; status?: number | null } = {}) {
    super(message)
    this.isDown = isDown
    this.status = status
  }
}

/** Reads facts of one server. Every method throws {@link FactsError}. */
export class FactsClient {
  readonly #url: string
  readonly #apiKey: string | undefined
  readonly #signal: AbortSignal

  /** `signal`: also the time limit. */
  constructor(url: string, apiKey: string | undefined, signal: AbortSignal) {
    this.#url = url
    this.#apiKey = apiKey
    this.#signal = signal
  }

  /** Returns the response as an object or a list. */
  async json(path: string): Promise<Readonly<Record<string, unknown>> | readonly unknown[]> {
    const text = await this.text(path)
    try {
      const value: unknown = JSON.parse(text)
      if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
    } catch {
      // Reported below.
    }
    throw new FactsError(`the response to GET ${path} is not a JSON object or list`)
  }

  /** Returns the field `field` of the response, which must be a list of objects. */
  async rows(path: string, field: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const value = await this.json(path)
    const rows = Array.isArray(value) ? undefined : (value as Record<string, unknown>)[field]
    if (!Array.isArray(rows)) throw new FactsError(`the response to GET ${path} has no list "${field}"`)
    return rows.filter(row => typeof row === 'object' && row !== null)
  }

  async text(path: string): Promise<string> {
    try {
      const headers = this.#apiKey === undefined ? {} : { authorization: `Bearer ${this.#apiKey}` }
      // A redirect could lead the key to another server.
      const response = await fetch(`${this.#url}${path}`, { headers, redirect: 'error', signal: this.#signal })
      if (response.ok) return await boundedText(response, path)
      await response.body?.cancel()
      throw new FactsError(`GET ${path} returned ${response.status}`, { status: response.status })
    } catch (error) {
      if (error instanceof FactsError) throw error
      throw connectionError(error, path)
    }
  }

  /** Like {@link text}; null if the server does not have the route or does not allow it. */
  async optionalText(path: string): Promise<string | null> {
    try {
      return await this.text(path)
    } catch (error) {
      if (error instanceof FactsError && error.status !== null) return null
      throw error
    }
  }

  /** Like {@link json}; null if the server does not have the route or does not allow it. */
  async optionalJson(path: string): Promise<Readonly<Record<string, unknown>> | readonly unknown[] | null> {
    try {
      return await this.json(path)
    } catch (error) {
      if (error instanceof FactsError && error.status !== null) return null
      throw error
    }
  }
}

async function boundedText(response: Response, path: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > MAX_BYTES) throw new FactsError(`the response to GET ${path} is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length).toString('utf8')
}

/** `fetch` hides the reason in the cause of its error. */
function connectionError(error: unknown, path: string): FactsError {
  const cause = (error as { cause?: unknown }).cause ?? error
  const code = (cause as { code?: unknown }).code
  const name = (error as { name?: unknown }).name
  if (name === 'TimeoutError') return new FactsError(`GET ${path} took too long`)
  return new FactsError(`GET ${path}: ${errorMessage(cause)}`, { isDown: code === 'ECONNREFUSED' })
}
