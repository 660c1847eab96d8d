import type { HttpExchange } from '@svc/contracts'

/** Time limit for a client to read sent data, in milliseconds. */
export const READ_TIMEOUT_MS = 15_000
/** Time limit for a client to read the final error, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000
/** Delay before a client reconnects, in milliseconds. */
const RETRY_MS = 300

/** A stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export class EventStream {
  readonly #response: ReturnType<HttpExchange['stream']>
  #isOver = false

  /** `onEnd` is called once, when the stream is closed. */
  constructor(exchange: HttpExchange, onEnd: () => void) {
    const response = exchange.stream()
    this.#response = response
    if (response.destroyed) {
      // The client disconnected before the first event.
      this.#isOver = true
      queueMicrotask(onEnd)
      return
    }
    response.once('close', () => {
      this.#isOver = true
      onEnd()
    })
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no'
    })
    if (exchange.request.method === 'HEAD') response.end()
    else response.write(`retry: ${RETRY_MS}\n\n`)
  }

  /** Sends an event. Returns false if the client reads too slowly; see {@link drained}. */
  send(event: string, data: string, id: number): boolean {
    return this.#write(`id: ${id}\nevent: ${event}\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`)
  }

  /** Keeps the connection open, and updates the client's position. */
  beat(id: number): void {
    this.#write(`: \nid: ${id}\n\n`)
  }

  /** Waits until the client has read the data or has disconnected. Resolves to false after `READ_TIMEOUT_MS`. */
  async drained(): Promise<boolean> {
    const response = this.#response
    if (this.#isOver || !response.writableNeedDrain) return true
    return new Promise(resolve => {
      const done = (hasRead: boolean): void => {
        clearTimeout(timer)
        response.off('drain', onDrain)
        response.off('close', onDrain)
        resolve(hasRead)
      }
      const onDrain = (): void => done(true)
      const timer = setTimeout(() => done(false), READ_TIMEOUT_MS)
      response.on('drain', onDrain)
      response.on('close', onDrain)
    })
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Ends the stream with a last event. The event has no id, so a client that reconnects continues before it. */
  end(event: string | null, data = ''): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#response.end(event === null ? undefined : `event: ${event}\ndata: ${data}\n\n`)
    setTimeout(() => this.#response.destroy(), CLOSE_TIMEOUT_MS).unref()
  }

  #write(text: string): boolean {
    return this.#isOver || this.#response.write(text)
  }
}
