import type { AccessRecord, ObservedCall, SpanRecord } from '@svc/contracts'
import { isSvcError, type OperationDescriptor, unixMs } from '@svc/plugin-sdk'

/** Span of an operation, stored without the parts that are only needed when it is read. */
export interface OperationRecord {
  readonly trace_id: string
  readonly span_id: string
  readonly parent_id: string | null
  readonly request_id: string
  readonly operation: string
  readonly plugin: string
  readonly surface: string
  /** When the call ended, in Unix milliseconds. */
  readonly ended: number
  readonly ms: number
  readonly error: string | null
}

/** A span as it is stored: converting every one costs more than a small request. */
export type StoredSpan = SpanRecord | OperationRecord | AccessRecord

/** Returns the record of a call that has just ended. */
export function recordOfCall(
  call: ObservedCall,
  { id }: OperationDescriptor,
  plugin: string,
  ms: number,
  error: unknown
): OperationRecord {
  return {
    trace_id: call.traceId,
    span_id: call.spanId,
    parent_id: call.parentSpanId,
    request_id: call.requestId,
    operation: id,
    plugin,
    surface: call.surface,
    ended: unixMs(),
    ms,
    error: error === undefined ? null : isSvcError(error) ? error.code : 'OPR_FAILED'
  }
}

/** Returns the span of a stored record. A request without ids has none. */
export function toSpan(stored: StoredSpan): SpanRecord | null {
  if ('kind' in stored) return stored
  return 'ended' in stored ? spanOfOperation(stored) : spanOfRequest(stored)
}

function spanOfRequest(record: AccessRecord): SpanRecord | null {
  const { trace_id, span_id, parent_span_id, request_id, method, route, path, plugin, time, ms, status, error_code } =
    record
  if (trace_id === null || span_id === null) return null
  return {
    trace_id,
    span_id,
    parent_id: parent_span_id,
    request_id,
    name: `${method} ${route ?? path}`,
    kind: 'request',
    plugin,
    start: time - ms,
    ms,
    error: error_code ?? (status >= 500 ? String(status) : null),
    attributes: { status }
  }
}

function spanOfOperation(record: OperationRecord): SpanRecord {
  const { trace_id, span_id, parent_id, request_id, operation, plugin, surface, ended, ms, error } = record
  return {
    trace_id,
    span_id,
    parent_id,
    request_id,
    name: operation,
    kind: 'operation',
    plugin,
    start: ended - ms,
    ms,
    error,
    attributes: { surface }
  }
}
