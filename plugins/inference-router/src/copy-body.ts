import type { IncomingMessage, ServerResponse } from 'node:http'

/** How a body ended. `cut`: the server broke off. `gone`: the client left, or stopped reading. */
export type CopyEnd = 'complete' | 'cut' | 'gone'

/** Copies a body byte for byte, as fast as the client reads. A client that stops reading for `stallMs` is disconnected. */
export function copyBody(
  { message, first }: { readonly message: IncomingMessage; readonly first: Buffer | null },
  response: ServerResponse,
  stallMs: number
): Promise<CopyEnd> {
  return new Promise(resolve => {
    let stalled: NodeJS.Timeout | undefined
    const finish = (end: CopyEnd): void => {
      clearTimeout(stalled)
      resolve(end)
    }
    const write = (chunk: Buffer): void => {
      if (response.write(chunk)) return
      message.pause()
      stalled = setTimeout(() => response.destroy(), stallMs)
    }
    response.on('drain', () => {
      clearTimeout(stalled)
      message.resume()
    })
    response.once('close', () => finish(response.writableFinished ? 'complete' : 'gone'))
    // A paused stream still ends if all of it has arrived.
    if (first === null || message.readableEnded) {
      response.end(first ?? undefined)
      return
    }
    message.on('data', write)
    message.once('end', () => response.end())
    const cut = (): void => {
      if (message.complete) return
      // Without its last chunk, the client sees that the answer is not complete.
      finish('cut')
      response.destroy()
    }
    message.once('error', cut)
    message.once('close', cut)
    if (message.destroyed) cut()
    else {
      write(first)
      if (!response.writableNeedDrain) message.resume()
    }
  })
}
