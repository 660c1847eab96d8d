import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface SeenRequest {
  readonly method: string
  /** Path without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  readonly bytes: Buffer
  json(): any
  form(): URLSearchParams
}

export interface ServiceAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/**
 * Failure of one request: the connection ends before or after the service carried it out, nothing is answered,
 * or an answer is given instead.
 */
export type Fault = 'cut-before' | 'cut-after' | 'silent' | ServiceAnswer

export interface ServiceServer {
  readonly url: string
  readonly seen: readonly SeenRequest[]
  /** Requests of one method and path. */
  requests(method: string, path: string): readonly SeenRequest[]
  /** Lets the next requests of a method and path fail, one for each fault; undefined: that request is carried out. */
  fail(method: string, path: string, ...faults: readonly (Fault | undefined)[]): void
  /** Like `fail`, for the next requests of any path. */
  failNext(...faults: readonly (Fault | undefined)[]): void
}

/** Opens a real HTTP server that speaks the API of a service. The answer `undefined` is 404. */
export async function openService(
  t: Test,
  serve: (request: SeenRequest) => ServiceAnswer | undefined
): Promise<ServiceServer> {
  const seen: SeenRequest[] = []
  const faults = new Map<string, (Fault | undefined)[]>()
  let next: (Fault | undefined)[] = []
  const server = createServer(async (incoming, response) => {
    const request = await read(incoming)
    seen.push(request)
    const fault = faults.get(`${request.method} ${request.path}`)?.shift() ?? next.shift()
    if (fault === 'cut-before') return void incoming.socket.destroy()
    if (fault === 'silent') return
    const answer =
      typeof fault === 'object' ? fault : (serve(request) ?? { status: 404, body: { message: 'Not Found' } })
    if (fault === 'cut-after') return void incoming.socket.destroy()
    const { status = 200, headers = {}, body } = answer
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    requests: (method, path) => seen.filter(each => each.method === method && each.path === path),
    fail: (method, path, ...more) => void faults.set(`${method} ${path}`, [...more]),
    failNext: (...more) => {
      next = [...more]
    }
  }
}

async function read(incoming: IncomingMessage): Promise<SeenRequest> {
  const parts: Buffer[] = []
  try {
    for await (const part of incoming) parts.push(part as Buffer)
  } catch {
    // The client ended the connection.
  }
  const bytes = Buffer.concat(parts)
  const url = new URL(incoming.url ?? '/', 'http://service')
  return {
    method: incoming.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers as Record<string, string | undefined>,
    get body() {
      return bytes.toString('utf8')
    },
    bytes,
    json: () => JSON.parse(bytes.toString('utf8')),
    form: () => new URLSearchParams(bytes.toString('utf8'))
  }
}
