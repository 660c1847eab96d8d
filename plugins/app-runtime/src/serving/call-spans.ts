import { type ObservabilitySpans, type SpanParent, summariseStatement } from '@svc/contracts'
import { unixMs } from '@svc/plugin-sdk'
import type { EndedCall } from './messages.ts'
import type { CallOrigin } from './program-thread-handle.ts'

const PLUGIN = 'app-runtime'

/**
 * Records a call of a function with its SQL as spans below its request. `since`: when the call was made, in milliseconds
 * of `performance.now()`. A call without a request is not recorded.
 */
export function recordCall(
  spans: Pick<ObservabilitySpans, 'add'>,
  { name, start, ms, error, status, statements, statementCount }: EndedCall,
  { requestId, trace }: CallOrigin,
  since: number
): void {
  if (trace === undefined) return
  const request: SpanParent = { traceId: trace.traceId, spanId: trace.spanId, requestId }
  const waited = start - (unixMs() - performance.now() + since)
  const call = spans.add({
    parent: request,
    plugin: PLUGIN,
    name,
    start,
    ms,
    error: error ?? (status < 400 ? null : String(status)),
    attributes: {
      'svc.queue_ms': Math.round(Math.max(0, waited) * 1000) / 1000,
      ...(statementCount > statements.length ? { 'svc.statements_omitted': statementCount - statements.length } : {})
    }
  })
  for (const { sql, offset, ms: duration, rows, changed, error: failure } of statements) {
    const { name: summary, text } = summariseStatement(sql)
    spans.add({
      parent: call,
      plugin: PLUGIN,
      name: summary,
      start: start + offset,
      ms: duration,
      error: failure,
      attributes: {
        'db.system.name': 'sqlite',
        'db.query.summary': summary,
        'db.query.text': text,
        ...(rows === null ? {} : { 'db.response.returned_rows': rows > 0 ? rows : (changed ?? 0) })
      }
    })
  }
}
