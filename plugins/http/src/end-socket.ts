import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpErrorForms } from '@svc/contracts'
import { errorReply, JSON_TYPE } from './error-reply.ts'

/** Writes an error response to a raw socket, which has no response object, and closes it. */
export function endWith(socket: Duplex, error: unknown, requestId: string, form: HttpErrorForms, url = '/'): void {
  const { status, body, headers } = errorReply(error, requestId, form, url)
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
