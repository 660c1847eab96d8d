import type { AccessRecord, OperationEnd, SpanAttributes } from '@svc/contracts'

/** One step of a trace. Plain data, so that a record keeps no code of a replaced plugin in memory. */
export interface SpanRecord {
  readonly trace_id: string
  readonly span_id: string
  /** Null for the first step, and for a step whose parent is outside svc. */
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

/** Milliseconds since 1970, with fractions. Steps of this process are compared with each other. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}

/** Call it when the answer is complete. Null for a record without ids. */
export function spanOfRequest(record: AccessRecord): SpanRecord | null {
  const { trace_id, span_id, parent_span_id, request_id, method, route, path, plugin, ms, status, error_code } = record
  if (trace_id === null || span_id === null) return null
  return {
    trace_id,
    span_id,
    parent_id: parent_span_id,
    request_id,
    name: `${method} ${route ?? path}`,
    kind: 'request',
    plugin,
    start: now() - ms,
    ms,
    error: error_code ?? (status >= 500 ? String(status) : null),
    attributes: { status }
  }
}

/** Call it when the operation has ended. */
export function spanOfOperation(end: OperationEnd): SpanRecord {
  const { traceId, spanId, parentSpanId, requestId, operation, plugin, durationMs, error, surface } = end
  return {
    trace_id: traceId,
    span_id: spanId,
    parent_id: parentSpanId,
    request_id: requestId,
    name: operation,
    kind: 'operation',
    plugin,
    start: now() - durationMs,
    ms: durationMs,
    error: error?.code ?? null,
    attributes: { surface }
  }
}
