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
 * One request and its response. It is what the kernel gets as the call and what the socket knows it by, so that a request
 * costs one object of few fields.
 */
export class Exchange extends Caller implements Invocation, Carried {
  readonly response: ServerResponse
  readonly started = performance.now()
  /** The time that a plugin takes begins with the last byte of the body, not with the first of the head. */
  since = this.started
  declare onEvent?: (event: unknown) => void
  declare onProgress?: (done: number, total?: number, message?: string) => void
  /** Null until a route is found. */
  match: Match | null = null
  previous: Carried | null = null
  /** Code of the error that was answered. */
  errorCode: string | null = null
  #onFinish: ((exchange: Exchange) => void) | null

  /** `onFinish` is called once: when the answer has left this plugin's hands, or its client has gone. */
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

  /** Null where the route is not an operation's. */
  get operation(): OperationRoute | null {
    return this.match?.store.operation ?? null
  }

  /** Whether values are text, as in a query. */
  get coerce(): boolean {
    return this.operation?.plan.query ?? false
  }

  /** Puts the request id, and the trace context that the client sent, on a response that no Fastify handler writes. */
  label(): void {
    this.response.setHeader('x-request-id', this.requestId)
    if (this.traceparent !== undefined) this.response.setHeader('traceparent', this.traceparent)
  }

  /** Lets {@link exchangeOf} find it: Fastify hands on nothing but the request. */
  attach(): void {
    ;(this.request as WithExchange)[EXCHANGE] = this
  }

  /** Its answer has been handed to the socket as a whole. */
  answered(): void {
    // A response has no socket while an earlier answer occupies the connection.
    if (this.response.socket === null) this.untilClosed()
    else this.#finish()
  }

  /** It is under way until its response has been sent, or cut off. */
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

/** The exchange of a request that was handed to Fastify. */
export function exchangeOf(request: IncomingMessage): Exchange {
  return (request as WithExchange)[EXCHANGE] as Exchange
}
