import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { envelope, JSON_TYPE } from './envelope.ts'

/** Answers on a socket that no response object stands for, and closes it. */
export function endWith(socket: Duplex, error: unknown, requestId: string): void {
  const { status, body, headers } = envelope(error, requestId)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    `x-request-id: ${requestId}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close'
  ]
  for (const name in headers) lines.push(`${name}: ${headers[name]}`)
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
