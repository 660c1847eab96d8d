import type { HttpCaller } from '@svc/contracts'
import type { Logger, SvcError } from '@svc/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { UnknownModel } from './served-model.ts'
import type { WireServices } from './wire-services.ts'

/** Error in a neutral form, which each API renders in its own format. */
export interface WireError {
  readonly status: number
  readonly code: string
  readonly message: string
  /** Invalid request field. */
  readonly param: string | null
}

const BUSY_RETRY_SECONDS = 1
const LOADING_RETRY_SECONDS = 2

/** A request, for the log and the access record. */
export interface RequestContext {
  readonly log: Logger
  readonly caller: Pick<HttpCaller, 'requestId' | 'recordError'>
}

export function contextOf(request: FastifyRequest, log: Logger): RequestContext {
  return { log, caller: (request as unknown as { readonly caller: HttpCaller }).caller }
}

/**
 * Converts an error of a request and records its code. Errors of this server and the engine keep their message; other
 * 5xx errors are logged and hidden.
 */
export function toWireError(error: unknown, { log, caller }: RequestContext): WireError {
  const wire = convert(error, log, caller.requestId)
  caller.recordError?.(wire.code)
  return wire
}

function convert(error: unknown, log: Logger, requestId: string): WireError {
  const thrown = (error ?? {}) as { [K in keyof SvcError]?: unknown } & { statusCode?: unknown }
  const { data } = thrown
  const code = typeof thrown.code === 'string' ? thrown.code : ''
  const message = String(thrown.message ?? error)
  const status = Number(thrown.status ?? thrown.statusCode ?? 500)
  const param = typeof data === 'object' && data !== null && 'param' in data ? String(data.param) : null
  if (status < 500 || code.startsWith('MSV_')) return { status, code, message, param }
  log.error(`a request failed: ${message}`, { error, request_id: requestId })
  if (code.startsWith('INF_')) return { status, code, message, param }
  return { status: 500, code: 'internal_error', message: 'internal error, see the log of the server', param: null }
}

/** Returns an error handler that sends errors in the format of one API. */
export function errorHandler(
  shape: (error: WireError) => unknown,
  { log, unknownModels }: Pick<WireServices, 'log' | 'unknownModels'>
): (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  return (error, request, reply) => {
    const context = contextOf(request, log)
    const wire = toWireError(error, context)
    if (wire.code === 'MSV_MODEL_UNKNOWN') unknownModels.note(error as UnknownModel, context.caller.requestId)
    if (wire.code === 'MSV_BUSY') reply.header('retry-after', String(BUSY_RETRY_SECONDS))
    if (wire.code === 'MSV_MODEL_LOADING') reply.header('retry-after', String(LOADING_RETRY_SECONDS))
    return reply.code(wire.status).type('application/json; charset=utf-8').send(shape(wire))
  }
}
