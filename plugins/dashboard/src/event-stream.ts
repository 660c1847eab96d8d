import type { ServerResponse } from 'node:http'
import type { HttpExchange } from '@svc/contracts'

/** Maximum bytes that a client leaves unread; beyond it, the connection is closed and the call cancelled. */
const MAX_BACKLOG_BYTES = 8 * 1024 * 1024
/** Interval of comments, which keep the connection open in proxies. */
const HEARTBEAT_MS = 15_000

export function wantsEvents({ request }: HttpExchange): boolean {
  return request.headers.accept?.includes('text/event-stream') === true
}

/** Response to a call as server-sent events: `event`, `progress`, and at the end `result` or `error`. */
export class EventStream {
  readonly #exchange: HttpExchange
  #response: ServerResponse | null = null
  #heartbeat: NodeJS.Timeout | undefined

  constructor(exchange: HttpExchange) {
    this.#exchange = exchange
  }

  /** True once the response has begun, so that errors can no longer have a status. */
  get isOpen(): boolean {
    return this.#response !== null
  }

  open(): void {
    if (this.#response !== null) return
    const response = this.#exchange.stream()
    this.#response = response
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      // Disables buffering in reverse proxies of the nginx family.
      'x-accel-buffering': 'no'
    })
    response.flushHeaders()
    this.#heartbeat = setInterval(() => this.#write(': heartbeat\n\n'), HEARTBEAT_MS).unref()
    response.once('close', () => clearInterval(this.#heartbeat))
  }

  send(event: 'event' | 'progress' | 'result' | 'error', data: unknown): void {
    this.open()
    this.#write(`event: ${event}\ndata: ${JSON.stringify(data ?? null)}\n\n`)
  }

  end(): void {
    clearInterval(this.#heartbeat)
    this.#response?.end()
  }

  #write(text: string): void {
    const response = this.#response
    if (response === null || response.destroyed) return
    if (response.writableLength > MAX_BACKLOG_BYTES) response.destroy()
    else response.write(text)
  }
}
