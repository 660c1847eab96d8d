import type { HttpErrorForms } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { errorReply, JSON_TYPE } from './error-reply.ts'
import { exchangeOf } from './exchange.ts'

export type LogError = (message: string, fields: Record<string, unknown>) => void

/** Makes a Fastify instance send thrown errors in its listener's format, and log those without a code. */
export function answerErrors(app: FastifyInstance, report: LogError, form: HttpErrorForms): void {
  app.setErrorHandler((error, request, reply) => {
    const { raw } = request
    const exchange = exchangeOf(raw)
    const { status, code, body, headers } = errorReply(error, exchange.requestId, form, raw.url ?? '/')
    exchange.errorCode = code
    if (status >= 500 && !isSvcError(error)) {
      const { requestId, path, route } = exchange
      report('a request failed', { error, request_id: requestId, method: raw.method, path, plugin: route?.owner })
    }
    // Fastify closes the connection after an unread body; a client that is still writing would see a reset instead of
    // the response. So the rest is read and discarded within the request's time limit.
    if (reply.raw.shouldKeepAlive && !reply.raw.hasHeader('connection')) reply.header('connection', 'keep-alive')
    if (!raw.complete) raw.resume()
    reply.code(status).headers(headers).header('x-request-id', exchange.requestId).type(JSON_TYPE).send(body)
  })
}
