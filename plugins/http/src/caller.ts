import type { IncomingMessage } from 'node:http'
import type { HttpCaller } from '@svc/contracts'
import { type Principal, parseTraceparent, randomHex, type TraceContext, traceparentOf } from '@svc/plugin-sdk'
import { requestIdOf } from './request-id.ts'

/** Span of a request. */
export interface RequestSpan extends Required<TraceContext> {
  /** Span of the client; null if it sent none. */
  readonly parentSpanId: string | null
}

/** Caller of a request, with its abort signal. The signal is created on first use. */
export class Caller implements HttpCaller {
  readonly requestId: string
  /** `traceparent` that the client sent; undefined if it sent none, or a malformed one. */
  declare readonly sentTraceparent?: string
  principal: Principal
  /** Code of the error in the response, for the access record. */
  errorCode: string | null = null
  #cancel: AbortController | 'disconnected' | undefined
  #trace: RequestSpan | undefined

  constructor({ headers }: IncomingMessage, principal: Principal) {
    this.requestId = requestIdOf(headers['x-request-id'])
    this.principal = principal
    if (headers.traceparent !== undefined) {
      const { traceparent } = headers
      if (typeof traceparent === 'string' && parseTraceparent(traceparent)) this.sentTraceparent = traceparent
    }
  }

  /** Span of this request, in the client's trace or a new one. Created on first use. */
  get trace(): RequestSpan {
    return (this.#trace ??= this.#newTrace())
  }

  /** Returns whether the details of a new trace are recorded. */
  protected sample(): boolean {
    return false
  }

  #newTrace(): RequestSpan {
    const sent = this.sentTraceparent === undefined ? undefined : parseTraceparent(this.sentTraceparent)
    if (sent === undefined)
      return { traceId: randomHex(16), spanId: randomHex(8), sampled: this.sample(), parentSpanId: null }
    return { traceId: sent.traceId, spanId: randomHex(8), sampled: sent.sampled, parentSpanId: sent.spanId }
  }

  /** The `traceparent` to pass to downstream calls. */
  get traceparent(): string {
    const { traceId, spanId, sampled } = this.trace
    return traceparentOf(traceId, spanId, sampled)
  }

  get signal(): AbortSignal {
    if (typeof this.#cancel === 'object') return this.#cancel.signal
    const controller = new AbortController()
    if (this.#cancel === 'disconnected') controller.abort(disconnected())
    this.#cancel = controller
    return controller.signal
  }

  get cancelled(): boolean {
    return typeof this.#cancel === 'object' ? this.#cancel.signal.aborted : this.#cancel === 'disconnected'
  }

  recordError(code: string): void {
    this.errorCode = code
  }

  /** Called when the client disconnected before its response. */
  disconnect(): void {
    if (typeof this.#cancel === 'object') this.#cancel.abort(disconnected())
    else this.#cancel = 'disconnected'
  }
}

function disconnected(): Error {
  return new Error('the client disconnected')
}
