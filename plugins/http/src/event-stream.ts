import type { ServerResponse } from 'node:http'
import { errorReply } from './error-reply.ts'
import type { Exchange } from './exchange.ts'

/** Maximum buffered bytes of a client; beyond it, the stream is closed and the call aborted. */
const MAX_BACKLOG = 8 * 1024 * 1024

/**
 * Returns whether an Accept header names event streams
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 */
export function wantsEvents(accept: string | undefined): boolean {
  return accept?.includes('text/event-stream') === true
}

/**
 * Responds with an event stream: `event`, `progress`, and at the end `result` or `error`.
 *
 * If a call is rejected before it starts, for example because of its input, the response is the same as without a
 * stream: the error's status and the shared envelope.
 */
export async function streamEvents(
  response: ServerResponse,
  exchange: Exchange,
  heartbeat: Heartbeat,
  run: () => Promise<unknown>
): Promise<void> {
  const stream = new EventStream(response, exchange)
  exchange.onEvent = event => stream.write('event', event)
  exchange.onProgress = (done, total, message) => stream.write('progress', { done, total, message })
  heartbeat.add(stream)
  // Validation and authorisation fail within this tick; in the next tick the stream opens.
  const opening = setImmediate(() => stream.open())
  try {
    stream.write('result', (await run()) ?? null)
  } catch (error) {
    if (!stream.opened) throw error
    stream.write('error', JSON.parse(errorReply(error, exchange.requestId, 'envelope', '/').body))
  } finally {
    clearImmediate(opening)
    heartbeat.delete(stream)
    if (stream.opened) stream.end()
  }
}

/** Open streams, which one timer keeps open with regular comments. */
export type Heartbeat = Set<EventStream>

export function newHeartbeat(): Heartbeat {
  return new Set()
}

export function beat(streams: Heartbeat): void {
  for (const stream of streams) stream.comment()
}

class EventStream {
  readonly #response: ServerResponse
  readonly #exchange: Exchange
  opened = false

  constructor(response: ServerResponse, exchange: Exchange) {
    this.#response = response
    this.#exchange = exchange
  }

  open(): void {
    if (this.opened) return
    this.opened = true
    this.#exchange.label()
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Disables buffering in reverse proxies of the nginx family.
      'x-accel-buffering': 'no'
    })
    this.#response.flushHeaders()
  }

  write(event: string, data: unknown): void {
    this.open()
    this.#send(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  comment(): void {
    if (this.opened) this.#send(': still at work\n\n')
  }

  end(): void {
    this.#response.end()
  }

  #send(text: string): void {
    if (this.#response.writableLength > MAX_BACKLOG) this.#response.destroy()
    if (!this.#response.destroyed) this.#response.write(text)
  }
}
