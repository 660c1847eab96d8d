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
  const { status, ...attributes } = span.attributes
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
    status: span.error === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: span.error },
    attributes: {
      ...attributes,
      ...defined({
        'http.response.status_code': span.kind === 'request' ? status : undefined,
        'error.type': span.error ?? undefined,
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

/** Converts to seconds and nanoseconds. */
function hrTime(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1_000)
  return [seconds, Math.round((milliseconds - seconds * 1_000) * 1e6)]
}
