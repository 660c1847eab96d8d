import type { Span, SpanAttributes, SpanRecord } from '@svc/contracts'
import { errorMessage, isSvcError, randomHex, type TraceContext } from '@svc/plugin-sdk'
import { now } from './span-record.ts'

/** Span that a plugin started. Passed to `record` when it ends. */
export class RunningSpan implements Span {
  readonly traceId: string
  readonly spanId = randomHex(8)
  readonly #record: (span: SpanRecord) => void
  readonly #name: string
  readonly #parentId: string | null
  readonly #start = now()
  #attributes: SpanAttributes
  #ended = false

  constructor(
    record: (span: SpanRecord) => void,
    name: string,
    parent: TraceContext | undefined,
    attributes: SpanAttributes = {}
  ) {
    this.#record = record
    this.#name = name
    this.traceId = parent?.traceId ?? randomHex(16)
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
      request_id: null,
      name: this.#name,
      kind: 'step',
      plugin: null,
      start: this.#start,
      ms: now() - this.#start,
      error: error === undefined ? null : isSvcError(error) ? error.code : errorMessage(error),
      attributes: this.#attributes
    })
  }
}
