import type { ServerResponse } from 'node:http'
import type { HttpErrorForms } from '@svc/contracts'
import { errorReply, JSON_TYPE } from './error-reply.ts'

/** Sends an error in the listener's format, outside Fastify. Returns the code of the error. */
export function writeError(response: ServerResponse, error: unknown, requestId: string, form: HttpErrorForms): string {
  const { status, code, body, headers } = errorReply(error, requestId, form, response.req.url ?? '/')
  for (const name in headers) response.setHeader(name, headers[name] as string)
  response.statusCode = status
  response.setHeader('x-request-id', requestId)
  response.setHeader('content-type', JSON_TYPE)
  response.setHeader('content-length', Buffer.byteLength(body))
  response.end(body)
  return code
}
