import { service, type TraceContext } from '@svc/plugin-sdk'

/** Records the steps of traces. HTTP requests and operations are recorded without it; plugins add steps of theirs. */
export const observabilitySpans = service<ObservabilitySpans>('observability.spans@1')

export interface ObservabilitySpans {
  /** Starts a step. `parent`: the step that it is part of, such as the running call; without it a new trace starts. */
  start(name: string, parent?: TraceContext, attributes?: SpanAttributes): Span
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
