import { service } from '@svc/plugin-sdk'

/** Receives records of requests from surfaces. */
export const observabilitySink = service<ObservabilitySink>('observability.sink@1')

export interface ObservabilitySink {
  /** Records one finished request. Never throws, and returns immediately. */
  request(record: AccessRecord): void
}

/** One HTTP request. Plain data, so that a record keeps no code of a replaced plugin in memory. */
export interface AccessRecord {
  /** When the response was complete, in Unix milliseconds. */
  readonly time: number
  readonly request_id: string
  /** W3C trace id: that of the client, or a new one. Null in records of an older log file. */
  readonly trace_id: string | null
  /** W3C span id of this request: 16 hex digits. Null if `trace_id` is null. */
  readonly span_id: string | null
  /** Span of the client; null if it sent no `traceparent`. */
  readonly parent_span_id: string | null
  readonly listener: string
  readonly method: string
  /** Pattern of the route; null if no route matched. */
  readonly route: string | null
  /** Without the query, which may hold personal data. */
  readonly path: string
  /** HTTP status; 499 if the client disconnected before the response. */
  readonly status: number
  readonly ms: number
  /** Bytes written to the socket, headers included. */
  readonly bytes: number
  /** Plugin that the route belongs to. */
  readonly plugin: string | null
  readonly operation: string | null
  readonly principal: string
  readonly error_code: string | null
}
