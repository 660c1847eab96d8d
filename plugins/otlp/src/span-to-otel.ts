import { type HrTime, type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { SpanRecord } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'

/**
 * Converts a span to OpenTelemetry's. Attribute names follow its semantic conventions; those of svc begin with `svc.`.
 */
export function spanToOtel(span: SpanRecord, resource: Resource, version: string): ReadableSpan {
  const context = (spanId: string): SpanContext => ({
    traceId: span.trace_id,
    spanId,
    traceFlags: TraceFlags.SAMPLED
  })
  const failure = failureOf(span)
  const startTime = hrTime(span.start)
  const duration = hrTime(span.ms)
  return {
    name: span.name,
    kind: span.kind === 'request' ? SpanKind.SERVER : SpanKind.INTERNAL,
    spanContext: () => context(span.span_id),
    ...(span.parent_id === null ? {} : { parentSpanContext: context(span.parent_id) }),
    startTime,
    endTime: hrTime(span.start + span.ms),
    duration,
    ended: true,
    status: failure === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: failure },
    attributes: {
      ...span.attributes,
      ...(span.kind === 'request' ? { 'url.scheme': 'http' } : {}),
      ...defined({
        'error.type': failure ?? undefined,
        'svc.error_code': span.error ?? undefined,
        'svc.plugin': span.plugin ?? undefined,
        'svc.request_id': span.request_id ?? undefined
      }),
      'svc.kind': span.kind
    },
    links: [],
    events: [],
    resource,
    instrumentationScope: { name: 'svc', version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0
  }
}

/** Returns the failure of a span. A request that the server refused is none: the client was at fault. */
function failureOf({ kind, error, attributes }: SpanRecord): string | null {
  const { 'http.response.status_code': status } = attributes
  return kind === 'request' && typeof status === 'number' && status < 500 ? null : error
}

/** Converts to seconds and nanoseconds. */
function hrTime(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1_000)
  return [seconds, Math.round((milliseconds - seconds * 1_000) * 1e6)]
}
