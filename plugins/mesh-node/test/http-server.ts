import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
  readonly port: number
}

/** Opens an HTTP server on a free port. `respond` may answer later, or never. */
export async function openServer(t: Test, respond: (received: Received, response: ServerResponse) => void) {
  const received: Received[] = []
  const ports = new Set<number>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const { method = '', url = '', headers, socket } = request
      ports.add(socket.remotePort ?? 0)
      const call = {
        method,
        path: url,
        headers,
        body: text === '' ? null : JSON.parse(text),
        port: socket.remotePort ?? 0
      }
      received.push(call)
      respond(call, response)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(
    () =>
      new Promise<void>(resolve => {
        server.closeAllConnections()
        server.close(() => resolve())
      })
  )
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, received, ports, server }
}

export function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {}
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

export function text(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(body)
}
