import type { SpanRecord } from '@svc/contracts'
import { traceIdOf } from '@svc/plugin-sdk'
import { observabilityErrors } from './errors.ts'
import { sinceMs } from './filters.ts'
import { senderOf } from './sender.ts'
import type { SlotRing } from './slot-ring.ts'
import { type StoredSpan, toSpan } from './span-record.ts'
import { largest, renderTrace, rounded, stepsOf } from './trace.ts'

export interface TraceSource {
  readonly spans: SlotRing<StoredSpan>
  /** False in the process of a single command. */
  readonly serves: boolean
  /** Number of spans that are kept. */
  readonly maxSpans: number
}

/** Returns the handler of `observability.trace`. Throws `OBS_TRACE_UNKNOWN`. */
export function traceHandler({ spans, serves, maxSpans }: TraceSource) {
  return ({ id }: { readonly id: string }) => {
    const found = stepsOf(spans, id)
    if (found === undefined)
      throw observabilityErrors.create('OBS_TRACE_UNKNOWN', `no recorded span belongs to ${id}`, {
        hint: serves
          ? `svc requests lists the requests; the newest ${maxSpans} spans are kept`
          : 'start svc serve: only a running server records spans'
      })
    const { traceSpans, steps, omitted } = found
    const [first] = traceSpans
    return { trace_id: (first as SpanRecord).trace_id, steps, omitted, text: renderTrace(traceSpans) }
  }
}

export interface TracesInput {
  readonly failed: boolean
  readonly plugin?: string | undefined
  readonly sender?: 'client' | 'console' | undefined
  readonly since?: string | undefined
  readonly limit: number
}

/** Returns the handler of `observability.traces`. Throws `OBS_SINCE_INVALID`. */
export function tracesHandler({ spans }: TraceSource) {
  return ({ failed, plugin, sender, since, limit }: TracesInput) => {
    const from = sinceMs(since, Date.now())
    // Only the traces of the newest spans are complete enough to be shown; a trace is as new as its last span.
    const traces = new Map<string, StoredSpan[]>()
    for (const span of spans.items()) {
      const traceId = traceIdOf(span.traceRoot)
      const known = traces.get(traceId)
      if (known === undefined) traces.set(traceId, [span])
      else {
        known.push(span)
        // Moves the trace to the end.
        traces.delete(traceId)
        traces.set(traceId, known)
      }
    }
    const rows: TraceRow[] = []
    for (const stored of [...traces.values()].reverse()) {
      if (rows.length === limit) break
      const row = rowOf(stored, plugin)
      if (row === null || (failed && row.state === 'ok')) continue
      if (sender !== undefined && sender !== senderOf(row.plugin, row.state === 'ok')) continue
      if (from !== null && Date.parse(row.start) + row.ms < from) continue
      rows.push(row)
    }
    return { traces: rows }
  }
}

interface TraceRow {
  readonly trace_id: string
  readonly request_id: string | null
  readonly name: string
  readonly plugin: string | null
  readonly start: string
  readonly ms: number
  readonly spans: number
  readonly state: 'ok' | 'failed'
  readonly error: string | null
}

/** Summarises the spans of one trace; null if none is of the plugin. */
function rowOf(stored: readonly StoredSpan[], plugin: string | undefined): TraceRow | null {
  const all = stored.map(toSpan)
  if (plugin !== undefined && !all.some(span => span.plugin === plugin)) return null
  const ids = new Set(all.map(({ span_id }) => span_id))
  const isRoot = ({ parent_id }: SpanRecord): boolean => parent_id === null || !ids.has(parent_id)
  const [first] = all.filter(isRoot).sort((a, b) => a.start - b.start)
  if (first === undefined) return null
  const end = largest(all.map(({ start, ms }) => start + ms))
  // An inner span ends before its callers, so the first failed one is the deepest.
  const error = first.error ?? all.find(span => span.error !== null)?.error ?? null
  return {
    trace_id: first.trace_id,
    request_id: first.request_id ?? all.find(span => span.request_id !== null)?.request_id ?? null,
    name: first.name,
    plugin: first.plugin,
    start: new Date(first.start).toISOString(),
    ms: rounded(end - first.start),
    spans: all.length,
    state: error === null ? 'ok' : 'failed',
    error
  }
}
