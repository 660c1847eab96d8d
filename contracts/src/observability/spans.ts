import { service, type TraceContext } from '@svc/plugin-sdk'

/** Records the steps of traces. HTTP requests and operations are recorded without it; plugins add steps of theirs. */
export const observabilitySpans = service<ObservabilitySpans>('observability.spans@1')

export interface ObservabilitySpans {
  /** Starts a step. `parent`: the step that it is part of, such as the running call; without it a new trace starts. */
  start(name: string, parent?: TraceContext, attributes?: SpanAttributes): Span
  /** Calls the listener with each step that ends from now on. It must return immediately. Returns the end of that. */
  subscribe(listener: (span: SpanRecord) => void): () => void
}

/** One step of a trace. Plain data, so that a record keeps no code of a replaced plugin in memory. */
export interface SpanRecord {
  readonly trace_id: string
  readonly span_id: string
  /** Null for the first step of a trace. */
  readonly parent_id: string | null
  /** Id of the request; null for a step that a plugin started. */
  readonly request_id: string | null
  readonly name: string
  readonly kind: 'request' | 'operation' | 'step'
  readonly plugin: string | null
  /** Milliseconds since 1970, with fractions. */
  readonly start: number
  readonly ms: number
  /** Code or message of the failure; null after a success. */
  readonly error: string | null
  readonly attributes: SpanAttributes
}

/** Plain values; never secrets, inputs or outputs. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A running step. It can be the parent of others. */
export interface Span extends TraceContext {
  /** Adds attributes; later values replace earlier ones. */
  set(attributes: SpanAttributes): void
  /** Records the step. An error marks it as failed. Further calls have no effect. */
  end(error?: unknown): void
}
