import type { ServerResponse } from 'node:http'
import { envelope, JSON_TYPE } from './envelope.ts'

/** Answers with the shared envelope, for whatever fails outside Fastify. */
export function writeError(response: ServerResponse, error: unknown, requestId: string): void {
  const { status, body, headers } = envelope(error, requestId)
  for (const name in headers) response.setHeader(name, headers[name] as string)
  response.statusCode = status
  response.setHeader('x-request-id', requestId)
  response.setHeader('content-type', JSON_TYPE)
  response.setHeader('content-length', Buffer.byteLength(body))
  response.end(body)
}
