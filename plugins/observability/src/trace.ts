import type { SpanRecord } from '@svc/contracts'
import { requestIdOf, spanIdOf, traceIdOf } from '@svc/plugin-sdk'
import type { SlotRing } from './slot-ring.ts'
import { type StoredSpan, toSpan } from './span-record.ts'

/** Span with its position in the tree. */
export interface TraceSpan extends SpanRecord {
  /** Depth in the tree, 0 for the first span. */
  readonly depth: number
  /** Milliseconds after the first span of the trace. */
  readonly offset: number
}

/**
 * Returns the spans of the trace with an id: a trace id, a span id or a request id. Parents come before their children,
 * and children in the order of their start. Undefined if no span has the id. If a request id has several traces,
 * returns the newest.
 */
function traceOf(spans: SlotRing<StoredSpan>, id: string): readonly TraceSpan[] | undefined {
  const stored = spans.items()
  const found = stored.findLast(
    span => traceIdOf(span.traceRoot) === id || requestIdOf(span.requestName) === id || spanIdOf(span.spanNumber) === id
  )
  if (found === undefined) return undefined
  const { traceRoot } = found
  const traceSpans = stored
    .filter(span => span.traceRoot === traceRoot || traceIdOf(span.traceRoot) === traceIdOf(traceRoot))
    .map(toSpan)
    .sort((a, b) => a.start - b.start)
  return placed(traceSpans)
}

/** Places spans in their tree. Parents come first, even if a child began before its parent was recorded. */
function placed(traceSpans: readonly SpanRecord[]): TraceSpan[] {
  const known = new Set(traceSpans.map(span => span.span_id))
  const children = new Map<string | null, SpanRecord[]>()
  for (const span of traceSpans) {
    const parent = span.parent_id !== null && known.has(span.parent_id) ? span.parent_id : null
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [span])
    else siblings.push(span)
  }
  const begin = (traceSpans[0] as SpanRecord).start
  const found: TraceSpan[] = []
  const waiting = (children.get(null) ?? []).map(span => ({ span, depth: 0 })).reverse()
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { span, depth } = next
    found.push({ ...span, depth, offset: span.start - begin })
    const inner = children.get(span.span_id) ?? []
    for (const child of inner.toReversed()) waiting.push({ span: child, depth: depth + 1 })
  }
  return found
}

/** Maximum number of spans in one answer. */
const MAX_STEPS = 1_000

/** Returns the spans of a trace for an answer; undefined if no span has the id. */
export function stepsOf(spans: SlotRing<StoredSpan>, id: string) {
  const traceSpans = traceOf(spans, id)
  if (traceSpans === undefined) return undefined
  const names = new Map<string, number>()
  const steps = traceSpans.slice(0, MAX_STEPS).map(({ trace_id: _trace, start, offset, ms, attributes, ...span }) => {
    const count = (names.get(span.name) ?? 0) + 1
    names.set(span.name, count)
    const { 'db.query.text': statement } = attributes
    return {
      ...span,
      start: new Date(start).toISOString(),
      lane: count === 1 ? span.name : `${span.name} (${count})`,
      from: rounded(start),
      until: rounded(start + ms),
      offset: rounded(offset),
      ms: rounded(ms),
      state: span.error === null ? ('ok' as const) : ('failed' as const),
      statement: typeof statement === 'string' ? statement : null,
      attributes: { ...attributes },
      details: detailsOf(attributes)
    }
  })
  return { traceSpans, steps, omitted: traceSpans.length - steps.length }
}

/** Attributes that repeat the name or the statement of a database span, or are the same for all. */
const REPEATED: ReadonlySet<string> = new Set(['db.system.name', 'db.query.summary', 'db.query.text'])

function detailsOf(attributes: SpanRecord['attributes']): string {
  return Object.entries(attributes)
    .filter(([name]) => !REPEATED.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('  ')
}

/** Returns the largest value; 0 for none. A call with one argument per value would fail for very many. */
export function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0)
}

/** Rounds milliseconds to microseconds. */
export function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

const BAR_WIDTH = 30
// biome-ignore lint/suspicious/noControlCharactersInRegex: text of clients must not control a terminal
const CONTROL = /[\x00-\x1f\x7f-\x9f]/g

/** Draws a trace: one line per span, with a bar on the time axis of the trace. At most {@link MAX_STEPS} spans. */
export function renderTrace(all: readonly TraceSpan[]): string {
  const traceSpans = all.slice(0, MAX_STEPS)
  const [first] = traceSpans
  if (first === undefined) return ''
  const total = largest(traceSpans.map(span => span.offset + span.ms))
  const request = traceSpans.find(span => span.request_id !== null)?.request_id
  const head = [
    `trace ${first.trace_id}`,
    ...(request === undefined ? [] : [`request ${request}`]),
    milliseconds(total)
  ]
  const names = traceSpans.map(span => `${'  '.repeat(span.depth)}${span.name}`.replace(CONTROL, ''))
  const width = largest(names.map(name => name.length))
  const lines = traceSpans.map(({ offset, ms, plugin, error }, index) => {
    const from = total === 0 ? 0 : Math.min(Math.floor((offset / total) * BAR_WIDTH), BAR_WIDTH - 1)
    const length = total === 0 ? 1 : Math.max(Math.min(Math.round((ms / total) * BAR_WIDTH), BAR_WIDTH - from), 1)
    const bar = `${' '.repeat(from)}${'='.repeat(length)}`.padEnd(BAR_WIDTH)
    const owner = plugin === null ? '' : `  [${plugin}]`
    const failure = error === null ? '' : `  ${error.replace(CONTROL, '')}`
    return `${(names[index] as string).padEnd(width)}  ${milliseconds(ms).padStart(10)}  |${bar}|${owner}${failure}`
  })
  const omitted = all.length - traceSpans.length
  const more = omitted === 0 ? [] : [`${omitted} further spans are not shown`]
  return [head.join('  '), ...lines, ...more].join('\n')
}

function milliseconds(value: number): string {
  return `${value.toFixed(1)} ms`
}
