import { service, type TraceContext } from '@svc/plugin-sdk'

/** Records spans of plugins. HTTP requests and operations are recorded automatically. */
export const observabilitySpans = service<ObservabilitySpans>('observability.spans@1')

export interface ObservabilitySpans {
  /** Starts a span. `parent`: the enclosing span, such as the running call; if absent, a new trace starts. */
  start(name: string, parent?: TraceContext, attributes?: SpanAttributes): Span
  /**
   * Calls the listener for each span that ends from now on; it must return quickly. Returns the unsubscribe function.
   */
  subscribe(listener: (span: SpanRecord) => void): () => void
}

/** One finished span. Plain data, so that a record keeps no code of a replaced plugin in memory. */
export interface SpanRecord {
  readonly trace_id: string
  readonly span_id: string
  /** Null for the root span of a trace. */
  readonly parent_id: string | null
  /** Id of the request; null for a span that a plugin started. */
  readonly request_id: string | null
  readonly name: string
  readonly kind: 'request' | 'operation' | 'step'
  readonly plugin: string | null
  /** Unix milliseconds, with fractions. */
  readonly start: number
  readonly ms: number
  /** Code or message of the failure; null after a success. */
  readonly error: string | null
  readonly attributes: SpanAttributes
}

/** Plain values; never secrets, inputs or outputs. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A running span, which can be the parent of others. */
export interface Span extends TraceContext {
  /** Adds attributes; later values replace earlier ones. */
  set(attributes: SpanAttributes): void
  /** Ends and records the span. An error marks it as failed. Further calls have no effect. */
  end(error?: unknown): void
}
