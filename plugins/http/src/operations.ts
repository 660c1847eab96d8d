import type { IncomingMessage, ServerResponse } from 'node:http'
import { isSvcError } from '@svc/plugin-sdk'
import type { Report } from './answer-errors.ts'
import { JSON_TYPE } from './envelope.ts'
import { type Heartbeat, streamEvents, wantsEvents } from './event-stream.ts'
import { type Exchange, exchangeOf } from './exchange.ts'
import { inputFromBody, inputFromQuery } from './operation-input.ts'
import { hasBody, readJsonBody } from './read-body.ts'
import type { OperationRoute } from './route.ts'
import type { Match } from './route-table.ts'
import { writeError } from './write-error.ts'

export interface OperationsOptions {
  readonly bodyLimit: number
  readonly heartbeat: Heartbeat
  readonly report: Report
}

/**
 * Answers a request for an operation. Which one it is, and which unit answers, stands in the generation's table; an
 * operation brings nothing but data, so that a reload builds nothing here, and no web framework stands in between.
 */
export function operationServer(
  options: OperationsOptions
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => void answer(request, response, options)
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { bodyLimit, heartbeat, report }: OperationsOptions
): Promise<void> {
  const exchange = exchangeOf(request)
  const match = exchange.match as Match
  const { entry, plan, status } = match.store.operation as OperationRoute
  try {
    const input = plan.query
      ? inputFromQuery(plan, match, request)
      : inputFromBody(plan, match, hasBody(request) ? await readJsonBody(request, bodyLimit) : undefined)
    if (entry.descriptor.events !== undefined && wantsEvents(request.headers.accept)) {
      await streamEvents(response, exchange, heartbeat, entry, input)
    } else writeResult(response, exchange, status, await entry.invoke(input, exchange))
  } catch (error) {
    fail(error, request, response, exchange, report)
  }
}

function writeResult(response: ServerResponse, exchange: Exchange, status: number, output: unknown): void {
  if (response.destroyed) return
  const { requestId, traceparent } = exchange
  if (traceparent !== undefined) response.setHeader('traceparent', traceparent)
  if (status === 204) {
    response.writeHead(204, { 'x-request-id': requestId }).end()
    return
  }
  const text = output === undefined ? 'null' : JSON.stringify(output)
  const length = Buffer.byteLength(text)
  response.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': length, 'x-request-id': requestId })
  response.end(text)
}

function fail(
  error: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  exchange: Exchange,
  report: Report
): void {
  if (!isSvcError(error)) {
    const { method, url } = request
    report('a request failed', { error, requestId: exchange.requestId, method, url, plugin: exchange.route?.owner })
  }
  if (response.destroyed || response.headersSent) {
    response.destroy()
    return
  }
  exchange.label(response)
  writeError(response, error, exchange.requestId)
}
