import type { EndedSpan, Span, SpanAttributes, SpanRecord, StepParent } from '@svc/contracts'
import { errorMessage, isSvcError, randomHex, unixMs } from '@svc/plugin-sdk'

type Record = (span: SpanRecord) => void

export interface SpanStart {
  readonly name: string
  readonly plugin?: string
  readonly parent?: StepParent | undefined
  readonly attributes?: SpanAttributes | undefined
}

/** Span that a plugin started. Passed to `record` when it ends. */
export class RunningSpan implements Span {
  readonly traceId: string
  readonly spanId = randomHex(8)
  readonly sampled: boolean
  readonly requestId: string | undefined
  readonly #record: Record
  readonly #name: string
  readonly #plugin: string | null
  readonly #parentId: string | null
  readonly #start = unixMs()
  #attributes: SpanAttributes
  #ended = false

  constructor(record: Record, { name, plugin, parent, attributes = {} }: SpanStart) {
    this.#record = record
    this.#name = name
    this.#plugin = plugin ?? null
    this.traceId = parent?.traceId ?? randomHex(16)
    this.sampled = parent?.sampled ?? false
    this.requestId = parent?.requestId
    this.#parentId = parent?.spanId ?? null
    this.#attributes = attributes
  }

  set(attributes: SpanAttributes): void {
    this.#attributes = { ...this.#attributes, ...attributes }
  }

  end(error?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#record({
      trace_id: this.traceId,
      span_id: this.spanId,
      parent_id: this.#parentId,
      request_id: this.requestId ?? null,
      name: this.#name,
      kind: 'step',
      plugin: this.#plugin,
      start: this.#start,
      ms: unixMs() - this.#start,
      error: error === undefined ? null : isSvcError(error) ? error.code : errorMessage(error),
      attributes: this.#attributes
    })
  }
}

/** Returns the record of a step that has already ended. */
export function recordOfStep({ parent, plugin, name, start, ms, error, attributes }: EndedSpan): SpanRecord {
  return {
    trace_id: parent.traceId,
    span_id: randomHex(8),
    parent_id: parent.spanId,
    request_id: parent.requestId ?? null,
    name,
    kind: 'step',
    plugin,
    start,
    ms,
    error: error ?? null,
    attributes: attributes ?? {}
  }
}
