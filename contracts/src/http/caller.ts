import type { Principal } from '@svc/plugin-sdk'

/** The caller of a request, and how to stop working for it: `request.caller` in a raw route. */
export interface HttpCaller {
  readonly principal: Principal
  /** The client's `x-request-id`, or one made here; it is also in the response's headers. */
  readonly requestId: string
  /** The client's W3C `traceparent`, when it sent a valid one. */
  readonly traceparent?: string
  /** Aborted when the client goes away before its response is complete. */
  readonly signal: AbortSignal
  /** Whether it has gone already; to ask does not make the signal, which costs more than a small request. */
  readonly cancelled?: boolean
}
