import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

/** Failure of a server of an archive. */
export type Fault = {
  /** Beginning of `METHOD /path`. */
  readonly on: string
  /** How many requests it affects; default 1. */
  times?: number
} & (
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  /** Ends the connection before the request has its effect, or after it and before the answer. */
  | { readonly cut: 'before' | 'after' }
  /** Ends the connection after so many bytes of the body. */
  | { readonly cutBodyAfter: number }
  | { readonly delayMs: number }
)

export interface SeenRequest {
  readonly method: string
  /** Path with the query. */
  readonly url: string
  readonly headers: IncomingMessage['headers']
  /** Parsed JSON; null for uploads and requests without a body. */
  body: unknown
}

/** Request whose body is not read yet, with its answer. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly method: string
  readonly url: URL
  readonly seen: SeenRequest
  /** Reads a JSON body. */
  json(): Promise<Record<string, unknown>>
  /** Reads the body in chunks. Throws if the connection ends before it is complete. */
  chunks(): AsyncIterable<Buffer>
  answer(status: number, body: unknown, headers?: Readonly<Record<string, string>>): void
}

/** HTTP server of an archive in the test process, with faults. */
export class ArchiveServer {
  readonly seen: SeenRequest[] = []
  readonly faults: Fault[] = []
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  readonly #handle: (exchange: Exchange) => Promise<void>

  constructor(handle: (exchange: Exchange) => Promise<void>) {
    this.#handle = handle
  }

  /** Starts the server. Returns its origin. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  /** Number of requests whose `METHOD /path` begins so. */
  count(start: string): number {
    return this.seen.filter(({ method, url }) => `${method} ${url}`.startsWith(start)).length
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request
    const seen: SeenRequest = { method, url, headers: request.headers, body: null }
    this.seen.push(seen)
    const fault = this.#fault(`${method} ${url}`)
    try {
      if (fault !== undefined && 'cut' in fault && fault.cut === 'before') return cut(request)
      if (fault !== undefined && 'delayMs' in fault) await delay(fault.delayMs, undefined, { ref: false })
      if (fault !== undefined && 'status' in fault) {
        request.resume()
        await once(request, 'close')
        return send(response, fault.status, fault.body ?? {}, fault.headers)
      }
      await this.#handle({
        request,
        method,
        url: new URL(url, 'http://archive.test'),
        seen,
        async json() {
          seen.body = JSON.parse(await text(request))
          return seen.body as Record<string, unknown>
        },
        chunks: () => chunksOf(request, fault !== undefined && 'cutBodyAfter' in fault ? fault.cutBodyAfter : null),
        answer: (status, body, headers) => {
          if (fault !== undefined && 'cut' in fault) cut(request)
          else send(response, status, body, headers)
        }
      })
    } catch (error) {
      if (!request.socket.destroyed) send(response, 500, { message: String(error), status: 500 })
    }
  }

  #fault(line: string): Fault | undefined {
    const index = this.faults.findIndex(({ on }) => line.startsWith(on))
    const fault = this.faults[index]
    if (fault === undefined) return undefined
    fault.times = (fault.times ?? 1) - 1
    if (fault.times <= 0) this.faults.splice(index, 1)
    return fault
  }
}

async function* chunksOf(request: IncomingMessage, cutAfter: number | null): AsyncIterable<Buffer> {
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (cutAfter !== null && bytes >= cutAfter) cut(request)
    yield chunk
  }
  const expected = request.headers['content-length']
  if (expected !== undefined && Number(expected) !== bytes) throw new Error('the body is incomplete')
}

function cut(request: IncomingMessage): void {
  request.socket.destroy()
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {}
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  const isText = typeof body === 'string' && headers['content-type'] !== undefined
  response.end(body === null ? undefined : isText ? body : JSON.stringify(body))
}
