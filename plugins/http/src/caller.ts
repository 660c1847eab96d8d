import type { IncomingMessage } from 'node:http'
import type { HttpCaller } from '@svc/contracts'
import { type Principal, parseTraceparent, randomHex, type TraceContext, traceparentOf } from '@svc/plugin-sdk'
import { requestIdOf } from './request-id.ts'

/** Caller of a request, with its abort signal. The signal is created on first use. */
export class Caller implements HttpCaller {
  readonly requestId: string
  /** `traceparent` that the client sent; undefined if it sent none, or a malformed one. */
  declare readonly sentTraceparent?: string
  principal: Principal
  /** Code of the error in the response, for the access record. */
  errorCode: string | null = null
  #cancel: AbortController | 'disconnected' | undefined
  #trace: (TraceContext & { readonly parentSpanId: string | null }) | undefined

  constructor({ headers }: IncomingMessage, principal: Principal) {
    this.requestId = requestIdOf(headers['x-request-id'])
    this.principal = principal
    if (headers.traceparent !== undefined) {
      const { traceparent } = headers
      if (typeof traceparent === 'string' && parseTraceparent(traceparent)) this.sentTraceparent = traceparent
    }
  }

  /** Span of this request, in the client's trace or a new one. Created on first use. */
  get trace(): TraceContext & { readonly parentSpanId: string | null } {
    if (this.#trace === undefined) {
      const sent = parseTraceparent(this.sentTraceparent)
      const parentSpanId = sent?.spanId ?? null
      this.#trace = { traceId: sent?.traceId ?? randomHex(16), spanId: randomHex(8), parentSpanId }
    }
    return this.#trace
  }

  /** The `traceparent` to pass to downstream calls. */
  get traceparent(): string {
    const { traceId, spanId } = this.trace
    return traceparentOf(traceId, spanId)
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
