import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpCaller, Invocation } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { requestIdOf, traceparentOf } from './request-id.ts'
import type { OperationRoute, Route } from './route.ts'
import type { Match } from './route-table.ts'

const EXCHANGE = Symbol('exchange')
type WithExchange = IncomingMessage & { [EXCHANGE]?: Exchange }

/**
 * One request and its response. It is what the kernel gets as the call, so that a request costs one object of few fields;
 * the abort signal is made when somebody asks for it.
 */
export class Exchange implements Invocation, HttpCaller {
  readonly requestId: string
  declare readonly traceparent?: string
  declare onEvent?: (event: unknown) => void
  declare onProgress?: (done: number, total?: number, message?: string) => void
  readonly started: number
  principal: Principal
  /** Null until a route is found. */
  match: Match | null = null
  #cancel: AbortController | 'vanished' | undefined

  constructor(request: IncomingMessage, principal: Principal) {
    const { headers } = request
    this.requestId = requestIdOf(headers['x-request-id'])
    this.started = performance.now()
    this.principal = principal
    if (headers.traceparent !== undefined) {
      const traceparent = traceparentOf(headers.traceparent)
      if (traceparent !== undefined) this.traceparent = traceparent
    }
    ;(request as WithExchange)[EXCHANGE] = this
  }

  get surface(): 'http' {
    return 'http'
  }

  get route(): Route | undefined {
    return this.match?.store
  }

  /** Null where the route is not an operation's. */
  get operation(): OperationRoute | null {
    return this.match?.store.operation ?? null
  }

  /** What comes from a query is text. */
  get coerce(): boolean {
    return this.operation?.plan.query ?? false
  }

  get signal(): AbortSignal {
    if (typeof this.#cancel === 'object') return this.#cancel.signal
    const controller = new AbortController()
    if (this.#cancel === 'vanished') controller.abort(vanished())
    this.#cancel = controller
    return controller.signal
  }

  get cancelled(): boolean {
    return typeof this.#cancel === 'object' ? this.#cancel.signal.aborted : this.#cancel === 'vanished'
  }

  /** The client went away before it had its answer. */
  vanish(): void {
    if (typeof this.#cancel === 'object') this.#cancel.abort(vanished())
    else this.#cancel = 'vanished'
  }

  /** Puts the request id, and the trace context that the client sent, on a response that no Fastify handler writes. */
  label(response: ServerResponse): void {
    response.setHeader('x-request-id', this.requestId)
    if (this.traceparent !== undefined) response.setHeader('traceparent', this.traceparent)
  }
}

/** The exchange that the listener began for a request. */
export function exchangeOf(request: IncomingMessage): Exchange {
  return (request as WithExchange)[EXCHANGE] as Exchange
}

function vanished(): Error {
  return new Error('the client went away')
}
