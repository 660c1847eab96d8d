import type { HttpExchange, HttpHandlerRoute } from '@svc/contracts'
import { pluginErrors } from '../errors.ts'
import type { Codex } from './codex.ts'

/** Poll interval for changes of other processes, in milliseconds. */
const POLL_MS = 1_000
/** Heartbeat interval without changes, in milliseconds. */
const BEAT_MS = 15_000
const PAGE = 200

/**
 * Route `GET /api/codex/subscribe/:topic`: changes of a topic as server-sent events, after `after_id` or
 * `Last-Event-ID`.
 */
export class ChangeStreams {
  readonly #streams = new Set<ChangeStream>()
  readonly #codex: Codex
  #poll: NodeJS.Timeout | null = null

  constructor(codex: Codex) {
    this.#codex = codex
  }

  readonly route: HttpHandlerRoute = {
    method: 'GET',
    path: '/api/codex/subscribe/:topic',
    summary: 'Follow the changes of a topic as server-sent events',
    handle: exchange => this.#open(exchange)
  }

  /** Sends new changes to all streams. Called after a change was written. */
  readonly wake = (): void => {
    for (const stream of this.#streams) stream.wake()
  }

  close(): void {
    for (const stream of this.#streams) stream.end()
  }

  #open(exchange: HttpExchange): void {
    const after = startOf(exchange)
    if (after === null) {
      const message = 'after_id must be a whole number: the id of the last received change'
      exchange.fail(pluginErrors.create('DBP_CODEX_REFUSED', message))
      return
    }
    const stream = new ChangeStream(this.#codex, exchange, after, () => this.#forget(stream))
    this.#streams.add(stream)
    this.#poll ??= setInterval(this.wake, POLL_MS).unref()
    stream.wake()
  }

  #forget(stream: ChangeStream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0 || this.#poll === null) return
    clearInterval(this.#poll)
    this.#poll = null
  }
}

class ChangeStream {
  readonly #codex: Codex
  readonly #topic: string
  readonly #response: ReturnType<HttpExchange['stream']>
  readonly #beat: NodeJS.Timeout
  #after: number
  #isReading = false
  #isWanted = false

  constructor(codex: Codex, exchange: HttpExchange, after: number, onEnd: () => void) {
    this.#codex = codex
    this.#topic = exchange.params.topic ?? ''
    this.#after = after
    const response = exchange.stream()
    this.#response = response
    this.#beat = setInterval(() => response.write(': \n\n'), BEAT_MS).unref()
    response.once('close', () => {
      clearInterval(this.#beat)
      onEnd()
    })
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no'
    })
    if (exchange.request.method === 'HEAD') response.end()
    else response.write(': \n\n')
  }

  /** Sends the changes after the last sent one. */
  wake(): void {
    this.#isWanted = true
    if (this.#isReading) return
    this.#isReading = true
    this.#read()
      .catch(error => {
        const message = error instanceof Error ? error.message : String(error)
        this.#response.end(`event: error\ndata: ${JSON.stringify({ message })}\n\n`)
      })
      .finally(() => {
        this.#isReading = false
      })
  }

  end(): void {
    this.#response.end()
  }

  async #read(): Promise<void> {
    while (this.#isWanted && !this.#response.writableEnded && !this.#response.destroyed) {
      this.#isWanted = false
      const changes = await this.#codex.changes(this.#topic, this.#after, PAGE)
      for (const change of changes) {
        this.#after = change.id
        this.#response.write(`id: ${change.id}\nevent: change\ndata: ${JSON.stringify(change)}\n\n`)
      }
      if (changes.length === PAGE) this.#isWanted = true
      // Backpressure: a slow client receives the rest after it has read this.
      if (this.#response.writableNeedDrain && !(await drained(this.#response))) return
    }
  }
}

function drained(response: ReturnType<HttpExchange['stream']>): Promise<boolean> {
  return new Promise(resolve => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve(!response.destroyed)
    }
    response.on('drain', done)
    response.on('close', done)
  })
}

/** Returns the id after which the stream starts; null if it is invalid. */
function startOf({ query, request }: HttpExchange): number | null {
  // A reconnecting browser sends its last id in a header; the id in the URL is older.
  const text = request.headers['last-event-id'] ?? new URLSearchParams(query).get('after_id') ?? '0'
  const after = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : null
  return after
}
