import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { ModelServer } from './model-server.ts'

/** Codes of errors that show that no process listens any more. */
const GONE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE'])

/** Statuses of final responses (RFC 9110, 15). */
const [MIN_STATUS, MAX_STATUS] = [200, 599]

/** A server did not send the beginning of a response. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  /** `connect`: no connection, or it broke. `timeout`: connected, but nothing was sent for the idle time. */
  readonly kind: 'connect' | 'timeout'
  /** True if the process of the server has probably ended. */
  readonly isDown: boolean

  constructor(kind: UpstreamError['kind'], message: string, isDown: boolean) {
    super(message)
    this.kind = kind
    this.isDown = isDown
  }
}

export interface UpstreamRequest {
  /** Path with query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly connectTimeoutMs: number
  readonly idleTimeoutMs: number
}

/** A response whose first bytes have arrived, or its end. */
export interface UpstreamResponse {
  readonly message: IncomingMessage
  /** First bytes of the body; null for a complete response without a body. */
  readonly first: Buffer | null
}

/** One request to a server. */
export class UpstreamCall {
  /** Resolves at the first byte of the body. Rejects with {@link UpstreamError}. */
  readonly response: Promise<UpstreamResponse>
  #request: ClientRequest | undefined
  #isAborted = false

  constructor(server: ModelServer, request: UpstreamRequest) {
    this.response = this.#send(server, request, false)
  }

  /** Closes the connection, so that the server stops to generate. */
  abort(): void {
    this.#isAborted = true
    this.#request?.destroy()
  }

  async #send(server: ModelServer, request: UpstreamRequest, isRepeated: boolean): Promise<UpstreamResponse> {
    try {
      return await this.#attempt(server, request)
    } catch (error) {
      // The server may close an idle connection at the moment at which it is used again (RFC 9112, 9.3.1).
      const isReused = this.#request?.reusedSocket === true
      const isClosed = error instanceof UpstreamError && error.kind === 'connect'
      if (!isReused || !isClosed || isRepeated || this.#isAborted) throw error
      return this.#send(server, request, true)
    }
  }

  #attempt(server: ModelServer, { path, headers, body, connectTimeoutMs, idleTimeoutMs }: UpstreamRequest) {
    return new Promise<UpstreamResponse>((resolve, reject) => {
      const { agent } = server
      const isSecure = server.url.startsWith('https:')
      const send = isSecure ? httpsRequest : httpRequest
      const options = { method: 'POST', agent, headers: { ...headers, 'content-length': String(body.length) } }
      const request = send(`${server.url}${path}`, options)
      this.#request = request
      let why: UpstreamError | undefined
      const connecting = setTimeout(() => {
        why = new UpstreamError('connect', `no connection within ${connectTimeoutMs} ms`, false)
        request.destroy()
      }, connectTimeoutMs)
      const connected = (): void => clearTimeout(connecting)
      request.on('socket', socket => {
        if (socket.connecting) socket.once(isSecure ? 'secureConnect' : 'connect', connected)
        else connected()
      })
      request.setTimeout(idleTimeoutMs, () => {
        why = new UpstreamError('timeout', `no bytes for ${idleTimeoutMs / 1000} s`, false)
        request.destroy()
      })
      const failed = (error?: NodeJS.ErrnoException): void => {
        connected()
        const isDown = GONE.has(error?.code ?? '')
        reject(why ?? new UpstreamError('connect', error?.message ?? 'the connection was closed', isDown))
      }
      request.on('error', failed)
      request.on('close', () => failed())
      request.on('response', message => {
        connected()
        const { statusCode = 0 } = message
        if (statusCode < MIN_STATUS || statusCode > MAX_STATUS) {
          why = new UpstreamError('connect', `it answered with the invalid status ${statusCode}`, false)
          message.on('error', () => undefined)
          request.destroy()
          return
        }
        message.once('data', (first: Buffer) => {
          message.pause()
          resolve({ message, first })
        })
        message.once('end', () => resolve({ message, first: null }))
        // Also after the first byte: an error without a listener would end the process.
        message.on('error', failed)
        message.once('close', () => failed(Object.assign(new Error('the connection broke'), { code: 'ECONNRESET' })))
      })
      request.end(body)
    })
  }
}
