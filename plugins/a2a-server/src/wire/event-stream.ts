import { SSE_HEADERS } from '@a2a-js/sdk'
import type { HttpExchange } from '@svc/contracts'

const HEARTBEAT_MS = 15_000

/** One event of a stream. */
export interface StreamedEvent {
  readonly data: string
  /** Number for `Last-Event-ID`; null without one. */
  readonly id: number | null
  /** Type of the event; null for the default. */
  readonly type: 'error' | null
}

/**
 * Writes server-sent events until the source ends or the client disconnects. Waits for a slow client, so that the source
 * is read no faster than it reads.
 */
export async function writeEvents(
  exchange: HttpExchange,
  headers: Readonly<Record<string, string>>,
  events: AsyncIterable<StreamedEvent>
): Promise<void> {
  const response = exchange.stream()
  response.writeHead(200, { ...SSE_HEADERS, ...headers })
  response.flushHeaders()
  const beating = setInterval(() => {
    if (!response.destroyed && response.writableLength === 0) response.write(': open\n\n')
  }, HEARTBEAT_MS)
  try {
    for await (const { data, id, type } of events) {
      if (response.destroyed) return
      const lines = `${type === null ? '' : `event: ${type}\n`}${id === null ? '' : `id: ${id}\n`}data: ${data}\n\n`
      if (!response.write(lines)) await drained(response)
    }
  } finally {
    clearInterval(beating)
    response.end()
  }
}

function drained(response: ReturnType<HttpExchange['stream']>): Promise<void> {
  return new Promise(resolve => {
    const end = (): void => {
      response.off('drain', end)
      response.off('close', end)
      resolve()
    }
    response.once('drain', end)
    response.once('close', end)
  })
}
