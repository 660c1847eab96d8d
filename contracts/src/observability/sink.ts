import { service } from '@svc/plugin-sdk'

/** Receives records of requests from surfaces. */
export const observabilitySink = service<ObservabilitySink>('observability.sink@1')

export interface ObservabilitySink {
  /** Called once for each answered request. Never throws, and returns immediately. */
  request(record: AccessRecord): void
}

/** One HTTP request. Plain data, so that a record keeps no code of a replaced plugin in memory. */
export interface AccessRecord {
  /** When the answer was complete, in milliseconds since 1970. */
  readonly time: number
  readonly request_id: string
  /** W3C trace id: that of the client, or a new one. Null in records of an older log file. */
  readonly trace_id: string | null
  /** This request in its trace: 16 hex digits. Null like `trace_id`. */
  readonly span_id: string | null
  /** Step of the client that made the request; null if it sent no `traceparent`. */
  readonly parent_span_id: string | null
  readonly listener: string
  readonly method: string
  /** Path of the route with its parameters by name; null when no route matched. */
  readonly route: string | null
  /** Without the query, which may hold personal data. */
  readonly path: string
  /** 499 if the client disconnected before the answer. */
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
