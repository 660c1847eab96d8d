import type { Deferred } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { LogError } from './answer-errors.ts'
import { JSON_TYPE } from './error-reply.ts'
import { type Heartbeat, streamEvents, wantsEvents } from './event-stream.ts'
import type { Exchange } from './exchange.ts'
import { inputFromBody, inputFromQuery } from './operation-input.ts'
import { hasBody, readJsonBody } from './read-body.ts'
import type { OperationRoute, Route } from './route.ts'
import type { Match } from './route-table.ts'
import { writeError } from './write-error.ts'

export interface OperationsOptions {
  readonly bodyLimit: number
  readonly heartbeat: Heartbeat
  readonly report: LogError
}

/**
 * Returns the server function of all operations. The route table contains the operation and its unit, so a reload
 * builds nothing here, and requests bypass the web framework.
 */
export function operationServer(options: OperationsOptions): Route['serve'] {
  return exchange => new OperationResponse(exchange, options).begin()
}

/**
 * Response to one request. It receives the outcome by callbacks: promises caused half of a small request's allocations,
 * not counting Node's own.
 */
class OperationResponse implements Deferred {
  readonly #exchange: Exchange
  readonly #options: OperationsOptions

  constructor(exchange: Exchange, options: OperationsOptions) {
    this.#exchange = exchange
    this.#options = options
  }

  begin(): void {
    const { request, match, operation } = this.#exchange
    const { plan } = operation as OperationRoute
    try {
      if (plan.query) this.#invoke(inputFromQuery(plan, match as Match, request))
      else if (!hasBody(request)) this.#take(undefined)
      else readJsonBody(request, this.#options.bodyLimit, (error, body) => this.#arrive(error, body))
    } catch (error) {
      this.reject(error)
    }
  }

  resolve(output: unknown): void {
    try {
      writeResult(this.#exchange, output)
      this.#exchange.answered()
    } catch (error) {
      this.reject(error)
    }
  }

  reject(error: unknown): void {
    fail(error, this.#exchange, this.#options.report)
    this.#exchange.answered()
  }

  #arrive(error: unknown, body: unknown): void {
    if (error !== null) {
      this.reject(error)
      return
    }
    this.#exchange.since = performance.now()
    this.#take(body)
  }

  #take(body: unknown): void {
    const { operation, match } = this.#exchange
    let input: unknown
    try {
      input = inputFromBody((operation as OperationRoute).plan, match as Match, body)
    } catch (error) {
      this.reject(error)
      return
    }
    this.#invoke(input)
  }

  #invoke(input: unknown): void {
    const exchange = this.#exchange
    const { entry, answer } = exchange.operation as OperationRoute
    if (entry.descriptor.events === undefined || !wantsEvents(exchange.request.headers.accept)) {
      entry.start(input, exchange, this)
      return
    }
    const run = async (): Promise<unknown> => answered(await entry.invoke(input, exchange), answer)
    streamEvents(exchange.response, exchange, this.#options.heartbeat, run).then(
      () => exchange.answered(),
      error => this.reject(error)
    )
  }
}

/** Returns the body of a result: the whole result, or the field that the exposure names. */
function answered(result: unknown, field: string | undefined): unknown {
  return field === undefined ? result : (result as Readonly<Record<string, unknown>>)[field]
}

function writeResult(exchange: Exchange, result: unknown): void {
  const { response, requestId, sentTraceparent } = exchange
  const { status, answer } = exchange.operation as OperationRoute
  if (response.destroyed) return
  if (sentTraceparent !== undefined) response.setHeader('traceparent', sentTraceparent)
  if (status === 204) {
    response.writeHead(204, { 'x-request-id': requestId }).end()
    return
  }
  const output = answered(result, answer)
  const text = output === undefined ? 'null' : JSON.stringify(output)
  const length = Buffer.byteLength(text)
  response.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': length, 'x-request-id': requestId })
  // If every character is one byte, the text is ASCII: Latin-1 is equal, and measured and written faster (2 %).
  response.end(text, length === text.length ? 'latin1' : 'utf8')
}

function fail(error: unknown, exchange: Exchange, report: LogError): void {
  const { request, response, requestId } = exchange
  if (!isSvcError(error)) {
    const { path, route } = exchange
    report('a request failed', { error, request_id: requestId, method: request.method, path, plugin: route?.owner })
  }
  if (response.destroyed || response.headersSent) {
    response.destroy()
    return
  }
  exchange.label()
  exchange.errorCode = writeError(response, error, requestId, 'envelope')
}
