import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answerErrors, type Report } from './answer-errors.ts'
import { JSON_TYPE } from './envelope.ts'
import { type Heartbeat, streamEvents, wantsEvents } from './event-stream.ts'
import { exchangeOf } from './exchange.ts'
import { acceptJsonBodies } from './json-body.ts'
import { readInput } from './operation-input.ts'
import { newInstance } from './raw-routes.ts'
import type { OperationRoute } from './route.ts'

export interface OperationsOptions {
  readonly bodyLimit: number
  readonly heartbeat: Heartbeat
  readonly report: Report
}

/**
 * The Fastify instance that all operations share. Which operation a request means, and which unit answers, stands in the
 * generation's table; an operation brings nothing but data, so that a reload builds nothing here.
 */
export async function operationsInstance(options: OperationsOptions): Promise<FastifyInstance> {
  const app = newInstance(options.bodyLimit)
  acceptJsonBodies(app)
  answerErrors(app, options.report)
  app.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: '*',
    exposeHeadRoute: false,
    handler: (request, reply) => call(request, reply, options.heartbeat)
  })
  await app.ready()
  return app
}

async function call(request: FastifyRequest, reply: FastifyReply, heartbeat: Heartbeat): Promise<unknown> {
  const exchange = exchangeOf(request.raw)
  const { entry, plan, status } = exchange.operation as OperationRoute
  const input = readInput(plan, exchange.params, request)
  exchange.coerce = plan.query
  if (entry.descriptor.events !== undefined && wantsEvents(request.headers.accept)) {
    return streamEvents(reply, exchange, heartbeat, streaming => entry.invoke(input, streaming))
  }
  const output = await entry.invoke(input, exchange)
  if (status !== 200) reply.code(status)
  reply.header('x-request-id', exchange.requestId)
  if (exchange.traceparent !== undefined) reply.header('traceparent', exchange.traceparent)
  reply.header('content-type', JSON_TYPE)
  return output === undefined ? 'null' : JSON.stringify(output)
}
