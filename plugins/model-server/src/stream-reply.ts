import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Returns a signal that is aborted when the response was sent or the client has disconnected. */
export function replySignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const response = reply.raw
  if (response.destroyed || response.closed) controller.abort()
  else response.once('close', () => controller.abort())
  return controller.signal
}

const BUFFERED_BYTES = 16_384

/**
 * Sends text pieces with backpressure: apart from a small buffer, the next piece is pulled once the socket has accepted
 * the last. A client that reads nothing for `stallMs` is disconnected, because its answer holds a slot.
 */
export function sendStream(
  reply: FastifyReply,
  contentType: string,
  pieces: AsyncIterable<string>,
  stallMs: number
): FastifyReply {
  const body: Readable = Readable.from(
    withStallLimit(pieces, stallMs, () => body.destroy()),
    {
      objectMode: false,
      highWaterMark: BUFFERED_BYTES
    }
  )
  return reply
    .header('content-type', contentType)
    .header('cache-control', 'no-cache')
    .header('x-accel-buffering', 'no')
    .send(body)
}

async function* withStallLimit(
  pieces: AsyncIterable<string>,
  stallMs: number,
  onStall: () => void
): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    const timer = setTimeout(onStall, stallMs)
    try {
      yield piece
    } finally {
      clearTimeout(timer)
    }
  }
}
