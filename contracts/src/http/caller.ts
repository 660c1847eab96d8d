import type { Principal, TraceContext } from '@svc/plugin-sdk'

/** Caller of a request, with its abort signal: `request.caller` in a raw route. */
export interface HttpCaller {
  readonly principal: Principal
  /** The client's `x-request-id`, or a generated one; also in the headers of the response. */
  readonly requestId: string
  /** W3C `traceparent` to pass to downstream calls: continues the client's trace, or starts a new one. */
  readonly traceparent?: string
  /** Span of the request, to start spans below it. */
  readonly trace?: TraceContext
  /** Aborted when the client disconnects before its response is complete. */
  readonly signal: AbortSignal
  /**
   * Whether the client has disconnected. Reading this is cheap; the first read of `signal` creates it, which costs more
   * than a small request.
   */
  readonly cancelled?: boolean
  /**
   * Records the error code of the response in the access record, for a route that writes its own error format. Call it
   * before the response ends; the last call counts. Errors that the http plugin sends are recorded without it.
   */
  recordError?(code: string): void
}
