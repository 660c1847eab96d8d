import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server'
import { A2A_ERROR_CODE, type A2AError, ContentTypeNotSupportedError, toJsonRpcError } from '@a2a-js/sdk/errors'
import { JsonRpcTransportHandler, validateVersion } from '@a2a-js/sdk/server'
import { coordinationErrors, type HttpExchange, parseJsonBody } from '@svc/contracts'
import { type ErrorSpec, isSvcError, type Logger } from '@svc/plugin-sdk'
import { a2aServerErrors } from '../errors.ts'
import type { Access } from './access.ts'
import type { A2aCall } from './call.ts'
import { type StreamedEvent, writeEvents } from './event-stream.ts'
import { malformed } from './input.ts'
import type { A2aRequestHandler } from './request-handler.ts'
import { callOf, extensionHeaders, isJsonBody, MAX_REQUEST_BYTES } from './request-parts.ts'
import { codeOf, toA2aError } from './wire-errors.ts'

const JSON_TYPE = 'application/json'
const LEGACY_VERSION = '0.3'
/** Errors of svc that calls may fail with. */
const ALL_ERRORS = { ...a2aServerErrors.specs, ...coordinationErrors.specs }

export interface JsonRpcParts {
  readonly handler: A2aRequestHandler
  readonly access: Access
  readonly log: Logger
  /** Whether version 0.3 is served as well. */
  readonly v0_3: boolean
}

const WRONG_FORM = toJsonRpcError(malformed('a field of the parameters has a wrong form'))

type Envelope = { readonly error?: unknown }
type RequestId = string | number | null

/** The JSON-RPC binding: one route for all methods. */
export class JsonRpcBinding {
  readonly #parts: JsonRpcParts
  readonly #current: JsonRpcTransportHandler
  readonly #legacy: LegacyJsonRpcTransportHandler

  constructor(parts: JsonRpcParts) {
    this.#parts = parts
    this.#current = new JsonRpcTransportHandler(parts.handler)
    this.#legacy = new LegacyJsonRpcTransportHandler(parts.handler)
  }

  handle(exchange: HttpExchange): void {
    this.#begin(exchange).then(
      call => {
        exchange.body(bytes => {
          this.#answer(exchange, call, bytes).catch(error => exchange.fail(error))
        }, MAX_REQUEST_BYTES)
      },
      error => this.#refuse(exchange, error)
    )
  }

  async #begin(exchange: HttpExchange): Promise<A2aCall> {
    const call = callOf(exchange, await this.#parts.access.identify(exchange))
    if (!isJsonBody(exchange.request, false)) throw notJson(exchange)
    return call
  }

  async #answer(exchange: HttpExchange, call: A2aCall, bytes: Buffer): Promise<void> {
    let body: unknown
    try {
      body = parseJsonBody(bytes)
    } catch (error) {
      exchange.caller.recordError?.('A2A_PARSE_ERROR')
      const message = error instanceof Error ? error.message : 'the body is not JSON'
      send(exchange, 200, { jsonrpc: '2.0', id: null, error: { code: A2A_ERROR_CODE.PARSE_ERROR, message } })
      return
    }
    const problem = problemOf(body)
    const request = body as Record<string, unknown>
    if (problem !== null) {
      exchange.caller.recordError?.('A2A_INVALID_REQUEST')
      const error = { code: A2A_ERROR_CODE.INVALID_REQUEST, message: problem }
      send(exchange, 200, { jsonrpc: '2.0', id: idOf(request ?? {}), error })
      return
    }
    const legacy = this.#parts.v0_3 && call.requestedVersion === LEGACY_VERSION
    try {
      validateVersion(call.requestedVersion, await this.#parts.handler.getAgentCard(), 'JSONRPC')
    } catch (error) {
      this.#refuse(exchange, error, idOf(request))
      return
    }
    const handled = await (legacy ? this.#legacy : this.#current).handle(request, call)
    if (!(Symbol.asyncIterator in handled)) {
      const isWrong = isDecoderError(handled, call)
      const answer = isWrong ? { jsonrpc: '2.0', id: idOf(request), error: WRONG_FORM } : handled
      const code = codeOfAnswer(answer)
      if (code !== null) exchange.caller.recordError?.(code)
      send(exchange, transportStatus(code), answer, extensionHeaders(call))
      return
    }
    // An error before the first event is answered without a stream.
    const events: AsyncIterator<object> = handled[Symbol.asyncIterator]()
    let first: IteratorResult<object>
    try {
      first = await events.next()
    } catch (error) {
      this.#refuse(exchange, error, idOf(request))
      return
    }
    await writeEvents(exchange, extensionHeaders(call), this.#events(first, events, call, idOf(request), exchange))
  }

  async *#events(
    first: IteratorResult<object>,
    rest: AsyncIterator<object>,
    call: A2aCall,
    id: RequestId,
    exchange: HttpExchange
  ): AsyncGenerator<StreamedEvent> {
    try {
      for (let next = first; next.done !== true; next = await rest.next())
        yield { data: JSON.stringify(next.value), id: call.streamed, type: null }
    } catch (error) {
      const converted = toA2aError(error, this.#parts.log)
      exchange.caller.recordError?.(codeOf(converted))
      const data = JSON.stringify({ jsonrpc: '2.0', id, error: toJsonRpcError(converted) })
      yield { data, id: null, type: 'error' }
    } finally {
      // The client may have disconnected.
      await rest.return?.()
    }
  }

  #refuse(exchange: HttpExchange, error: unknown, id: RequestId = null): void {
    const converted = toA2aError(error, this.#parts.log)
    exchange.caller.recordError?.(codeOf(converted))
    send(
      exchange,
      statusOf(converted),
      { jsonrpc: '2.0', id, error: toJsonRpcError(converted) },
      retryHeaders(converted)
    )
  }
}

/** Errors of calls are sent with status 200; those of access and load have their own status. */
function statusOf(error: A2AError): number {
  return shownStatus(isSvcError(error.cause) ? error.cause.status : 200)
}

function transportStatus(code: string | null): number {
  return shownStatus((ALL_ERRORS as Readonly<Record<string, ErrorSpec>>)[code ?? '']?.status ?? 200)
}

function shownStatus(status: number): number {
  return status === 401 || status === 403 || status === 429 || status === 503 ? status : 200
}

/** Returns whether the SDK could not decode the parameters, for example because of null in a list. */
function isDecoderError(answer: Envelope, call: A2aCall): boolean {
  const { code } = (answer.error ?? {}) as { readonly code?: unknown }
  return code === A2A_ERROR_CODE.INTERNAL_ERROR && !call.hasBegun
}

/** Returns the code of the error in an answer of the SDK; null if it has none. */
function codeOfAnswer({ error }: Envelope): string | null {
  if (typeof error !== 'object' || error === null) return null
  const { data, code } = error as { readonly data?: unknown; readonly code: number }
  const [detail] = Array.isArray(data) ? (data as { reason?: string; metadata?: { code?: string } }[]) : []
  return detail?.metadata?.code ?? `A2A_${detail?.reason ?? code}`
}

export function retryHeaders({ cause }: Error): Record<string, string> {
  const { data, status } = (cause ?? {}) as { readonly data?: { retryAfterMs?: number }; readonly status?: number }
  if (status === 401) return { 'www-authenticate': 'Bearer' }
  return data?.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(data.retryAfterMs / 1000)) }
}

function notJson({ request }: HttpExchange): Error {
  const type = String(request.headers['content-type']).slice(0, 200)
  return new ContentTypeNotSupportedError(`the body has the content type ${type}; send application/json`)
}

/** Returns why a body is not a request of JSON-RPC; null if it is one. */
function problemOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return 'the body is not one request object; batches are not part of the protocol'
  const { jsonrpc, id = null, method } = body as Readonly<Record<string, unknown>>
  if (jsonrpc !== '2.0') return 'the field jsonrpc must be "2.0"'
  if (id !== null && typeof id !== 'string' && !Number.isInteger(id))
    return 'the field id must be a string or a whole number'
  return typeof method === 'string' && method !== '' ? null : 'the field method must be the name of a method'
}

function idOf({ id }: Readonly<Record<string, unknown>>): RequestId {
  return typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : null
}

function send(exchange: HttpExchange, status: number, body: object, headers: Record<string, string> = {}): void {
  exchange.send(status, JSON_TYPE, JSON.stringify(body), headers)
}
