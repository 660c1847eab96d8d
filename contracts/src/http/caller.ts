import type { Principal } from '@svc/plugin-sdk'

/** The caller of a request, and how to stop working for it: `request.caller` in a raw route. */
export interface HttpCaller {
  readonly principal: Principal
  /** The client's `x-request-id`, or a generated one; also in the headers of the response. */
  readonly requestId: string
  /** W3C `traceparent` for what the request calls: in the trace of the client, or in a new one. */
  readonly traceparent?: string
  /** Aborted when the client disconnects before its response is complete. */
  readonly signal: AbortSignal
  /**
   * Whether the client has disconnected. Reading this does not create the signal, which costs more than a small
   * request.
   */
  readonly cancelled?: boolean
}
