import type { IncomingMessage } from 'node:http'
import type { HttpCaller } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { requestIdOf, traceparentOf } from './request-id.ts'

/** Caller of a request, with its abort signal. The signal is created on first use. */
export class Caller implements HttpCaller {
  readonly requestId: string
  declare readonly traceparent?: string
  principal: Principal
  #cancel: AbortController | 'vanished' | undefined

  constructor({ headers }: IncomingMessage, principal: Principal) {
    this.requestId = requestIdOf(headers['x-request-id'])
    this.principal = principal
    if (headers.traceparent !== undefined) {
      const traceparent = traceparentOf(headers.traceparent)
      if (traceparent !== undefined) this.traceparent = traceparent
    }
  }

  get signal(): AbortSignal {
    if (typeof this.#cancel === 'object') return this.#cancel.signal
    const controller = new AbortController()
    if (this.#cancel === 'vanished') controller.abort(vanished())
    this.#cancel = controller
    return controller.signal
  }

  get cancelled(): boolean {
    return typeof this.#cancel === 'object' ? this.#cancel.signal.aborted : this.#cancel === 'vanished'
  }

  /** The client disconnected before its answer. */
  vanish(): void {
    if (typeof this.#cancel === 'object') this.#cancel.abort(vanished())
    else this.#cancel = 'vanished'
  }
}

function vanished(): Error {
  return new Error('the client went away')
}
