import type { HttpErrorForm } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { errorReply, JSON_TYPE } from './error-reply.ts'
import { exchangeOf } from './exchange.ts'

export type Report = (message: string, fields: Record<string, unknown>) => void

/** Makes an instance answer thrown errors in the form of its listener, and report those that were not written for callers. */
export function answerErrors(app: FastifyInstance, report: Report, form: HttpErrorForm): void {
  app.setErrorHandler((error, request, reply) => {
    const { raw } = request
    const exchange = exchangeOf(raw)
    const { status, code, body, headers } = errorReply(error, exchange.requestId, form)
    exchange.errorCode = code
    if (status >= 500 && !isSvcError(error)) {
      const { method, url } = raw
      report('a request failed', { error, request_id: exchange.requestId, method, url, plugin: exchange.route?.owner })
    }
    // Fastify closes connections after a body that it would not read. The rest is read and dropped instead, within the
    // request's time, since a client that is still writing would see a reset in place of the answer.
    if (reply.raw.shouldKeepAlive && !reply.raw.hasHeader('connection')) reply.header('connection', 'keep-alive')
    if (!raw.complete) raw.resume()
    reply.code(status).headers(headers).header('x-request-id', exchange.requestId).type(JSON_TYPE).send(body)
  })
}
