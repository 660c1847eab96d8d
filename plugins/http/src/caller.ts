import type { IncomingMessage } from 'node:http'
import type { HttpCaller } from '@svc/contracts'
import {
  type LocalSpan,
  newSpanNumber,
  type Principal,
  parseTraceparent,
  requestIdOf,
  spanIdOf,
  type TraceContext,
  traceIdOf,
  traceparentOf
} from '@svc/plugin-sdk'
import { acceptedId } from './request-id.ts'

/** Caller of a request, with its abort signal, and the span of the request. The signal is created on first use. */
export class Caller implements HttpCaller, LocalSpan, TraceContext {
  readonly requestId: string
  readonly spanNumber = newSpanNumber()
  readonly requestName: number | string
  /** `traceparent` that the client sent; undefined if it sent none, or a malformed one. */
  declare readonly sentTraceparent?: string
  principal: Principal
  /** Code of the error in the response, for the access record. */
  errorCode: string | null = null
  #cancel: AbortController | 'disconnected' | undefined
  #sent: Required<TraceContext> | null = null
  #sampled: boolean | undefined

  constructor({ headers }: IncomingMessage, principal: Principal) {
    const id = headers['x-request-id']
    this.requestName = id === undefined ? this.spanNumber : (acceptedId(id) ?? this.spanNumber)
    this.requestId = requestIdOf(this.requestName)
    this.principal = principal
    const { traceparent } = headers
    if (traceparent === undefined) return
    this.#sent = parseTraceparent(traceparent as string) ?? null
    if (this.#sent !== null) this.sentTraceparent = traceparent as string
  }

  get traceRoot(): number | string {
    return this.#sent === null ? this.spanNumber : this.#sent.traceId
  }

  get parentSpan(): string | null {
    return this.#sent === null ? null : this.#sent.spanId
  }

  get traceId(): string {
    return traceIdOf(this.traceRoot)
  }

  get spanId(): string {
    return spanIdOf(this.spanNumber)
  }

  get sampled(): boolean {
    return (this.#sampled ??= this.#sent === null ? this.sample() : this.#sent.sampled)
  }

  get trace(): this {
    return this
  }

  /** Returns whether the details of a new trace are recorded. */
  protected sample(): boolean {
    return false
  }

  /** The `traceparent` to pass to downstream calls. */
  get traceparent(): string {
    const { traceId, spanId, sampled } = this
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
