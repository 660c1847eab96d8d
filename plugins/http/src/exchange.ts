import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Invocation, SpanParent } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { Caller } from './caller.ts'
import type { OperationRoute, Route } from './route.ts'
import type { Match, RouteTable } from './route-table.ts'
import { addRequest, removeRequest, type SocketRequest } from './socket-exchanges.ts'

const EXCHANGE = Symbol('exchange')
type WithExchange = IncomingMessage & { [EXCHANGE]?: Exchange }

/** State that the requests of a listener share. */
export interface ExchangeHost {
  readonly table: Pick<RouteTable, 'shownPath'>
  /** Called once per request: when the response was passed to the socket, or the client disconnected. */
  finished(exchange: Exchange): void
  /** Returns whether the details of a new trace are recorded. */
  sample(): boolean
  /** Runs a function as part of a recorded request. */
  within(parent: SpanParent, run: () => void): void
}

/**
 * One request and its response. The object is both the invocation for the kernel and the record on the socket, so that
 * a request costs one small object.
 */
export class Exchange extends Caller implements Invocation, SocketRequest {
  readonly response: ServerResponse
  readonly started = performance.now()
  /** When the handler's time starts: at the last byte of the body, not at the first byte of the head. */
  since = this.started
  declare onEvent?: (event: unknown) => void
  declare onProgress?: (done: number, total?: number, message?: string) => void
  /** Null until a route is found. */
  match: Match | null = null
  previous: SocketRequest | null = null
  readonly #host: ExchangeHost
  #isFinished = false

  constructor(response: ServerResponse, principal: Principal, host: ExchangeHost) {
    super(response.req, principal)
    this.#host = host
    this.response = response
    addRequest(response.req.socket, this)
  }

  get request(): IncomingMessage {
    return this.response.req
  }

  get surface(): 'http' {
    return 'http'
  }

  get route(): Route | undefined {
    return this.match?.store
  }

  /** Null unless the route belongs to an operation. */
  get operation(): OperationRoute | null {
    return this.match?.store.operation ?? null
  }

  /** Path for logs and records, without the query and without secrets. */
  get path(): string {
    return this.#host.table.shownPath(this.request.url as string)
  }

  /** True if values are strings to convert, as in a query. */
  get coerce(): boolean {
    return this.operation?.plan.query ?? false
  }

  /** Sets the headers `x-request-id` and `traceparent` on a response that Fastify does not handle. */
  label(): void {
    this.response.setHeader('x-request-id', this.requestId)
    if (this.sentTraceparent !== undefined) this.response.setHeader('traceparent', this.sentTraceparent)
  }

  /** Runs a handler, or a part of it that a callback continues, so that steps in it find the request. */
  within(run: () => void): void {
    const { traceId, spanId, sampled } = this.trace
    if (sampled) this.#host.within({ traceId, spanId, sampled, requestId: this.requestId }, run)
    else run()
  }

  protected override sample(): boolean {
    return this.#host.sample()
  }

  /** Stores the exchange on its request for {@link exchangeOf}: Fastify passes on only the request. */
  attach(): void {
    ;(this.request as WithExchange)[EXCHANGE] = this
  }

  /** Called when the complete response was passed to the socket. */
  answered(): void {
    // With pipelining, a response has no socket while an earlier response uses the connection.
    if (this.response.socket === null) this.untilClosed()
    else this.#finish()
  }

  /** Keeps the exchange in flight until its response was sent or aborted. */
  untilClosed(): void {
    this.response.once('close', () => {
      if (this.response.writableFinished) this.#finish()
      else this.lose()
    })
  }

  lose(): void {
    this.disconnect()
    this.#finish()
  }

  #finish(): void {
    if (this.#isFinished) return
    this.#isFinished = true
    removeRequest(this.request.socket, this)
    this.#host.finished(this)
  }
}

/** Returns the exchange of a request in Fastify. */
export function exchangeOf(request: IncomingMessage): Exchange {
  return (request as WithExchange)[EXCHANGE] as Exchange
}
