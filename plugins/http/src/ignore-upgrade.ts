import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * Serves a request as if it had no Upgrade header, as RFC 9110 section 7.8 allows. Node emits `upgrade` for every
 * request with that header, and some HTTP clients always request h2c. The request is pushed back to the socket without
 * that header and parsed again.
 */
export function withoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { rawHeaders } = request
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase()
    if (name === 'upgrade' || name === 'http2-settings') continue
    const value = rawHeaders[at + 1] as string
    lines.push(`${rawHeaders[at]}: ${name === 'connection' ? withoutTokens(value) : value}`)
  }
  if (head.length > 0) socket.unshift(head)
  socket.unshift(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'))
  server.emit('connection', socket)
}

function withoutTokens(connection: string): string {
  const kept = connection
    .split(',')
    .filter(token => !['upgrade', 'http2-settings'].includes(token.trim().toLowerCase()))
  return kept.join(',') || 'keep-alive'
}
