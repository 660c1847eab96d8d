import type { AccessRecord, FinishedAccess } from '@svc/contracts'

/** Returns a finished request with the ids of a record. */
export function finished({ request_id, trace_id, span_id, parent_span_id, ...access }: AccessRecord): FinishedAccess {
  const ids = { spanNumber: (span_id ?? 'f'.repeat(16)) as never, traceRoot: trace_id ?? 'e'.repeat(32) }
  return { ...access, span: { ...ids, parentSpan: parent_span_id, requestName: request_id, sampled: false } }
}
