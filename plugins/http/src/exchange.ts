import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Invocation } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { Caller } from './caller.ts'
import type { OperationRoute, Route } from './route.ts'
import type { Match } from './route-table.ts'
import { type Carried, carry, release } from './socket-exchanges.ts'

const EXCHANGE = Symbol('exchange')
type WithExchange = IncomingMessage & { [EXCHANGE]?: Exchange }

/**
 * One request and its response. It is both the kernel's call and the socket's record, so that a request costs one small
 * object.
 */
export class Exchange extends Caller implements Invocation, Carried {
  readonly response: ServerResponse
  readonly started = performance.now()
  /** A plugin's time starts with the last byte of the body, not with the first of the head. */
  since = this.started
  declare onEvent?: (event: unknown) => void
  declare onProgress?: (done: number, total?: number, message?: string) => void
  /** Null until a route is found. */
  match: Match | null = null
  previous: Carried | null = null
  /** Code of the answered error. */
  errorCode: string | null = null
  #onFinish: ((exchange: Exchange) => void) | null

  /** `onFinish` is called once: when the answer was passed on, or the client disconnected. */
  constructor(response: ServerResponse, principal: Principal, onFinish: (exchange: Exchange) => void) {
    super(response.req, principal)
    this.response = response
    this.#onFinish = onFinish
    carry(response.req.socket, this)
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

  /** True if values are text, as in a query. */
  get coerce(): boolean {
    return this.operation?.plan.query ?? false
  }

  /** Sets the request id and the client's trace context on a response without a Fastify handler. */
  label(): void {
    this.response.setHeader('x-request-id', this.requestId)
    if (this.sentTraceparent !== undefined) this.response.setHeader('traceparent', this.sentTraceparent)
  }

  /** Makes {@link exchangeOf} find it: Fastify passes on only the request. */
  attach(): void {
    ;(this.request as WithExchange)[EXCHANGE] = this
  }

  /** Its complete answer was passed to the socket. */
  answered(): void {
    // A response has no socket while an earlier answer uses the connection.
    if (this.response.socket === null) this.untilClosed()
    else this.#finish()
  }

  /** It is in flight until its response was sent or aborted. */
  untilClosed(): void {
    this.response.once('close', () => {
      if (this.response.writableFinished) this.#finish()
      else this.lose()
    })
  }

  lose(): void {
    this.vanish()
    this.#finish()
  }

  #finish(): void {
    const onFinish = this.#onFinish
    if (onFinish === null) return
    this.#onFinish = null
    release(this.request.socket, this)
    onFinish(this)
  }
}

/** The exchange of a request in Fastify. */
export function exchangeOf(request: IncomingMessage): Exchange {
  return (request as WithExchange)[EXCHANGE] as Exchange
}
