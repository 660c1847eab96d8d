import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpCaller, HttpErrorForms, HttpExchange, HttpHandlerRoute } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { LogError } from './answer-errors.ts'
import type { Exchange } from './exchange.ts'
import { hasBody, readBody } from './read-body.ts'
import type { Route } from './route.ts'
import type { Match } from './route-table.ts'
import { writeError } from './write-error.ts'

export interface HandlerOptions {
  readonly bodyLimit: number
  readonly report: LogError
  readonly errors: HttpErrorForms
}

/** Returns a server function that calls a plugin's handler with the raw request. */
export function handlerServer(route: Pick<HttpHandlerRoute, 'handle'>, options: HandlerOptions): Route['serve'] {
  return exchange => {
    const handled = new HandledExchange(exchange, options)
    if (exchange.trace.sampled) exchange.within(() => handled.run(route))
    else handled.run(route)
  }
}

const NOTHING = Buffer.alloc(0)

class HandledExchange implements HttpExchange {
  readonly #exchange: Exchange
  readonly #options: HandlerOptions
  #isAnswered = false

  constructor(exchange: Exchange, options: HandlerOptions) {
    this.#exchange = exchange
    this.#options = options
  }

  /** Calls the handler. */
  run(route: Pick<HttpHandlerRoute, 'handle'>): void {
    try {
      route.handle(this)
    } catch (error) {
      this.fail(error)
    }
  }

  get request(): IncomingMessage {
    return this.#exchange.request
  }

  get response(): ServerResponse {
    return this.#exchange.response
  }

  get caller(): HttpCaller {
    return this.#exchange
  }

  get params(): HttpExchange['params'] {
    return (this.#exchange.match as Match).params
  }

  get query(): string {
    return (this.#exchange.match as Match).searchParams
  }

  body(take: (bytes: Buffer) => void, limit = this.#options.bodyLimit): void {
    const { request } = this.#exchange
    if (!hasBody(request)) {
      take(NOTHING)
      return
    }
    try {
      readBody(request, Math.min(limit, this.#options.bodyLimit), outcome => {
        if (outcome instanceof Error) {
          this.fail(outcome)
          return
        }
        this.#exchange.since = performance.now()
        // Node calls back in the context of the connection.
        if (this.#exchange.trace.sampled) this.#exchange.within(() => this.#take(take, outcome))
        else this.#take(take, outcome)
      })
    } catch (error) {
      this.fail(error)
    }
  }

  #take(take: (bytes: Buffer) => void, bytes: Buffer): void {
    try {
      take(bytes)
    } catch (thrown) {
      this.fail(thrown)
    }
  }

  send(status: number, type: string, body: string | Uint8Array, headers?: Readonly<Record<string, string>>): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    const { response, requestId, sentTraceparent } = this.#exchange
    if (!response.destroyed) {
      const isText = typeof body === 'string'
      const length = isText ? Buffer.byteLength(body) : body.length
      if (sentTraceparent !== undefined) response.setHeader('traceparent', sentTraceparent)
      for (const name in headers) response.setHeader(name, headers[name] as string)
      response.writeHead(status, { 'content-type': type, 'content-length': length, 'x-request-id': requestId })
      // If every character is one byte, the text is ASCII, which is measured and written faster as Latin-1.
      if (isText) response.end(body, length === body.length ? 'latin1' : 'utf8')
      else response.end(body)
    }
    this.#exchange.answered()
  }

  fail(error: unknown): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    const { request, response, requestId, route } = this.#exchange
    if (!isSvcError(error)) {
      const { path } = this.#exchange
      const { method } = request
      this.#options.report('a request failed', { error, request_id: requestId, method, path, plugin: route?.owner })
    }
    if (response.destroyed || response.headersSent) response.destroy()
    else {
      this.#exchange.label()
      this.#exchange.errorCode = writeError(response, error, requestId, this.#options.errors)
    }
    this.#exchange.answered()
  }

  stream(): ServerResponse {
    this.#isAnswered = true
    this.#exchange.untilClosed()
    this.#exchange.label()
    return this.#exchange.response
  }
}
