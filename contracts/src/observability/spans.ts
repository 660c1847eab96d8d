import { service, type TraceContext } from '@svc/plugin-sdk'

/** Records spans of plugins. HTTP requests and operations are recorded automatically. */
export const observabilitySpans = service<ObservabilitySpans>('observability.spans@1')

export interface ObservabilitySpans {
  /** Starts a span. `parent`: the enclosing span, such as the running call; if absent, a new trace starts. */
  start(name: string, parent?: StepParent, attributes?: SpanAttributes): Span
  /**
   * Starts a span below the recorded call that runs now. Null if no call runs, or its details are not recorded, so that
   * a detail costs nothing then. `parent`: that call, for code that a callback of another call continues.
   */
  step(plugin: string, name: string, attributes?: SpanAttributes, parent?: StepParent): Span | null
  /** Returns the recorded call that runs now. Undefined if no call runs, or its details are not recorded. */
  current(): SpanParent | undefined
  /** Records a span that has already ended, such as a step that another thread measured. Returns it as a parent. */
  add(span: EndedSpan): SpanParent
  /** Returns whether the details of a new trace are recorded. */
  sample(): boolean
  /** Runs a function as part of a recorded call, such as the handler of a request: {@link current} returns `parent` in it. */
  within<A>(parent: SpanParent, run: () => A): A
  /**
   * Calls the listener for each span that ends from now on; it must return quickly. Returns the unsubscribe function.
   */
  subscribe(listener: (span: SpanRecord) => void): () => void
}

/** Enclosing span; without `spanId`, only the trace is known. */
export type StepParent = Omit<SpanParent, 'spanId'> & Partial<Pick<SpanParent, 'spanId'>>

/** Enclosing span, with the id of its request. */
export interface SpanParent extends TraceContext {
  readonly requestId?: string | undefined
}

/** One finished span. Plain data, so that a record keeps no code of a replaced plugin in memory. */
export interface SpanRecord {
  readonly trace_id: string
  readonly span_id: string
  /** Null for the root span of a trace. */
  readonly parent_id: string | null
  /** Id of the request; null for a span of no request. */
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

/** Plain values; never secrets, inputs or outputs. Names follow OpenTelemetry's semantic conventions, if they have one. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A step that has ended. */
export interface EndedSpan {
  readonly parent: SpanParent
  readonly plugin: string
  readonly name: string
  /** Unix milliseconds, with fractions. */
  readonly start: number
  readonly ms: number
  /** Code or message of the failure. */
  readonly error?: string | null
  readonly attributes?: SpanAttributes
}

/** A running span, which can be the parent of others. */
export interface Span extends SpanParent {
  /** Adds attributes; later values replace earlier ones. */
  set(attributes: SpanAttributes): void
  /** Ends and records the span. An error marks it as failed. Further calls have no effect. */
  end(error?: unknown): void
}
