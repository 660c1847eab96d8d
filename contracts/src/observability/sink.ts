import { type LocalSpan, requestIdOf, service, spanIdOf, traceIdOf } from '@svc/plugin-sdk'

/** Receives records of requests from surfaces. */
export const observabilitySink = service<ObservabilitySink>('observability.sink@1')

export interface ObservabilitySink {
  /**
   * Records one finished request. Never throws, and returns immediately. Copies what it keeps, so that the record of a
   * request may be reused.
   */
  request(request: FinishedAccess): void
}

/** Record of an HTTP request without its ids. */
export interface Access {
  /** When the response was complete, in Unix milliseconds. */
  readonly time: number
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

/** A finished request, with its span. */
export interface FinishedAccess extends Access {
  readonly span: LocalSpan
}

/** One HTTP request. Plain data, so that a record keeps no code of a replaced plugin in memory. */
export interface AccessRecord extends Access {
  readonly request_id: string
  /** W3C trace id: that of the client, or a new one. Null in records of an older log file. */
  readonly trace_id: string | null
  /** W3C span id of this request: 16 hex digits. Null if `trace_id` is null. */
  readonly span_id: string | null
  /** Span of the client; null if it sent no `traceparent`. */
  readonly parent_span_id: string | null
}

/** Returns the record of a finished request. */
export function accessRecordOf({ span, ...access }: FinishedAccess): AccessRecord {
  return {
    ...access,
    request_id: requestIdOf(span.requestName),
    trace_id: traceIdOf(span.traceRoot),
    span_id: spanIdOf(span.spanNumber),
    parent_span_id: span.parentSpan === null ? null : spanIdOf(span.parentSpan)
  }
}
