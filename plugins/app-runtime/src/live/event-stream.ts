import type { HttpExchange } from '@svc/contracts'

/** Milliseconds that a client has to read what was sent, before it is dropped. */
export const PATIENCE_MS = 15_000
/** Milliseconds that a client has to read why it was dropped. */
const FAREWELL_MS = 5_000
/** Milliseconds after which a client that lost its stream comes back. */
const RETRY_MS = 300

/** A stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export class EventStream {
  readonly #response: ReturnType<HttpExchange['stream']>
  #isOver = false

  /** `onEnd` is called once, when nothing more can be sent. */
  constructor(exchange: HttpExchange, onEnd: () => void) {
    const response = exchange.stream()
    this.#response = response
    if (response.destroyed) {
      // The client went away before there was anything to tell it.
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

  /** False when the client reads too slowly; see {@link drained}. */
  send(event: string, data: string, id: number): boolean {
    return this.#write(`id: ${id}\nevent: ${event}\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`)
  }

  /** Keeps the connection open, and lets the client remember how far it is. */
  beat(id: number): void {
    this.#write(`: \nid: ${id}\n\n`)
  }

  /** Resolves when the client has read what was sent, or is gone; false when it does not read. */
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
      const timer = setTimeout(() => done(false), PATIENCE_MS)
      response.on('drain', onDrain)
      response.on('close', onDrain)
    })
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Ends the stream with a last event, without a number: a client that comes back begins behind what it has seen. */
  end(event: string | null, data = ''): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#response.end(event === null ? undefined : `event: ${event}\ndata: ${data}\n\n`)
    setTimeout(() => this.#response.destroy(), FAREWELL_MS).unref()
  }

  #write(text: string): boolean {
    return this.#isOver || this.#response.write(text)
  }
}
