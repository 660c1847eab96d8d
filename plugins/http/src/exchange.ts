import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpCaller, Invocation } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { requestIdOf, traceparentOf } from './request-id.ts'
import type { OperationRoute, Route } from './route.ts'

const EXCHANGE = Symbol('exchange')
type WithExchange = IncomingMessage & { [EXCHANGE]?: Exchange }

/**
 * One request and its response. It is what the kernel gets as the call, so that a request costs one object; the abort
 * signal is made when somebody asks for it.
 */
export class Exchange implements Invocation, HttpCaller {
  readonly surface = 'http'
  readonly requestId: string
  readonly traceparent?: string
  readonly started: number
  principal: Principal
  coerce = false
  params: Readonly<Record<string, string | undefined>> = NO_PARAMS
  route: Route | undefined
  onEvent?: (event: unknown) => void
  onProgress?: (done: number, total?: number, message?: string) => void
  #controller: AbortController | undefined
  #vanished = false

  constructor(request: IncomingMessage, principal: Principal) {
    const headers = request.headers
    this.requestId = requestIdOf(headers['x-request-id'])
    const traceparent = headers.traceparent === undefined ? undefined : traceparentOf(headers.traceparent)
    if (traceparent !== undefined) this.traceparent = traceparent
    this.started = performance.now()
    this.principal = principal
    ;(request as WithExchange)[EXCHANGE] = this
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#vanished) this.#controller.abort(vanished())
    }
    return this.#controller.signal
  }

  /** Null where the route is not an operation's. */
  get operation(): OperationRoute | null {
    return this.route?.operation ?? null
  }

  /** The client went away before it had its answer. */
  vanish(): void {
    this.#vanished = true
    this.#controller?.abort(vanished())
  }

  /** Puts the request id, and the trace context that the client sent, on a response that no Fastify handler writes. */
  label(response: ServerResponse): void {
    response.setHeader('x-request-id', this.requestId)
    if (this.traceparent !== undefined) response.setHeader('traceparent', this.traceparent)
  }
}

const NO_PARAMS = Object.freeze({})

/** The exchange that the listener began for a request. */
export function exchangeOf(request: IncomingMessage): Exchange {
  return (request as WithExchange)[EXCHANGE] as Exchange
}

function vanished(): Error {
  return new Error('the client went away')
}
