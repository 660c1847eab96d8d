import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface Asked {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export interface LocalServer {
  readonly url: string
  /** Requests in order. */
  readonly asked: Asked[]
}

/** Starts an HTTP server on this machine. A returned value is sent as JSON; `undefined`: the handler has answered. */
export async function localServer(
  t: Test,
  answer: (asked: Asked, response: ServerResponse) => unknown
): Promise<LocalServer> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const each = {
      method: request.method ?? '',
      url: new URL(request.url ?? '/', 'http://local.test'),
      headers: request.headers,
      body: text === '' ? null : (JSON.parse(text) as unknown)
    }
    asked.push(each)
    const value = answer(each, response)
    if (value === undefined) return
    response.setHeader('content-type', 'application/json')
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(
    () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  )
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
