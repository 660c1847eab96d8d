import type { AccessRecord, OperationEnd, SpanRecord } from '@svc/contracts'

/** Returns Unix milliseconds with fractions, so that times of spans in this process can be compared. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}

/** Returns the span of a request that has just ended; null for a record without ids. */
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

/** Returns the span of an operation that has just ended. */
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
