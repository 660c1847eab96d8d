import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import {
  createMcpHandler,
  InMemoryServerEventBus,
  isLegacyRequest,
  legacyStatelessFallback,
  type McpHandlerRequestOptions
} from '@modelcontextprotocol/server'
import type { McpPrincipal } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { endSessionStreams, type McpHub } from './hub.ts'
import { type JsonBody, readJsonBody } from './json-body.ts'
import { authInfoOf, callerOf, type HttpRequestCaller } from './principal.ts'
import type { ServingUnit } from './serving.ts'
import { HttpSessions, type SessionLimits } from './sessions.ts'

export interface HttpSettings extends SessionLimits {
  readonly max_body_bytes: number
  readonly max_subscriptions: number
}

/**
 * Streamable HTTP of both protocol versions on one path. A 2026 request is served statelessly. A 2025 request is served
 * in its session, or statelessly if it has none and does not initialize one.
 */
export class HttpHandler {
  readonly #sessions: HttpSessions
  readonly #calls: ReturnType<typeof createMcpHandler>
  /** Handler of subscriptions only, so that they can be ended while calls continue. */
  #listens: ReturnType<typeof createMcpHandler>
  readonly #stateless: ReturnType<typeof legacyStatelessFallback>
  readonly #serve: ReturnType<typeof toNodeHandler>
  readonly #maxBodyBytes: number
  readonly #newListens: () => ReturnType<typeof createMcpHandler>
  readonly #unit: ServingUnit
  readonly #log: Logger
  readonly #hub: McpHub

  constructor(hub: McpHub, unit: ServingUnit, settings: HttpSettings, log: Logger) {
    const factory = unit.oneShot.bind(unit)
    const onerror = (error: Error): void => log.debug('MCP request rejected', { error })
    const options = { legacy: 'reject', onerror, maxSubscriptions: settings.max_subscriptions } as const
    const newHandler = () => createMcpHandler(factory, { ...options, bus: new InMemoryServerEventBus(onerror) })
    this.#sessions = new HttpSessions(hub, unit, settings)
    this.#calls = newHandler()
    this.#newListens = newHandler
    this.#listens = newHandler()
    this.#unit = unit
    this.#stateless = legacyStatelessFallback(factory, onerror)
    this.#serve = toNodeHandler({ fetch: (request, args) => this.#dispatch(request, args ?? {}) }, { onerror })
    this.#maxBodyBytes = settings.max_body_bytes
    this.#log = log
    this.#hub = hub
    unit.notify(this.#listens.notify)
  }

  /** Handles one request; never rejects. */
  async handle(
    req: IncomingMessage,
    res: ServerResponse,
    principal: McpPrincipal,
    maxBodyBytes = this.#maxBodyBytes,
    caller?: HttpRequestCaller
  ): Promise<void> {
    try {
      const limit = Math.min(maxBodyBytes, this.#maxBodyBytes)
      await this.#handle(Object.assign(req, { auth: authInfoOf(principal, caller) }), res, limit, caller)
    } catch (error) {
      // The client disconnected before its request was complete.
      this.#log.debug('MCP request aborted', { error, ...requestFields(caller) })
      res.destroy()
    }
  }

  async #handle(
    req: IncomingMessage,
    res: ServerResponse,
    maxBodyBytes: number,
    caller: HttpRequestCaller | undefined
  ): Promise<void> {
    let parsed: unknown
    if (req.method === 'POST') {
      const body = await readJsonBody(req, maxBodyBytes)
      if (!body.ok) {
        caller?.recordError?.(body.reason)
        answerRefusal(res, body)
        return
      }
      parsed = body.value
    } else if (req.method === 'GET') flushHead(res)
    await this.#serve(req as never, res as never, parsed)
  }

  /**
   * Ends the notification streams for good: this unit sends nothing more. Clients reconnect to its successor.
   */
  retire(): void {
    void this.#listens.close()
    endSessionStreams(this.#hub)
  }

  /** Ends the notification streams once: this unit continues, and clients reconnect to it. */
  endStreams(): void {
    const ended = this.#listens
    this.#listens = this.#newListens()
    this.#unit.notify(this.#listens.notify)
    void ended.close()
    endSessionStreams(this.#hub)
  }

  /** Aborts everything that is still running. */
  async close(): Promise<void> {
    await Promise.all([this.#listens.close(), this.#calls.close()])
  }

  async #dispatch(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    const response = await this.#respond(request, options)
    // The SDK rejects requests that do not follow the protocol.
    if (response.status >= 400) callerOf(options.authInfo)?.recordError?.('MCP_REQUEST_REJECTED')
    return response
  }

  async #respond(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    const body = options.parsedBody
    if (await isLegacyRequest(request, body)) {
      return this.#sessions.accepts(request, body)
        ? this.#sessions.handle(request, options)
        : this.#stateless(request, options)
    }
    const method = (body as { method?: unknown } | null | undefined)?.method
    return method === 'subscriptions/listen'
      ? this.#listens.fetch(request, options)
      : this.#calls.fetch(request, options)
  }
}

function requestFields(caller: HttpRequestCaller | undefined): Record<string, string> {
  return caller === undefined ? {} : { request_id: caller.requestId }
}

/** Sends an error. Closes the connection, since the unread rest of the body would be parsed as the next request. */
function answerRefusal(res: ServerResponse, { status, code, message }: JsonBody & { readonly ok: false }): void {
  res.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  res.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }))
}

/** Sends the headers immediately: a notification stream may be silent for a long time. */
function flushHead(res: ServerResponse): void {
  const writeHead = res.writeHead.bind(res) as (...args: unknown[]) => ServerResponse
  res.writeHead = ((...args: unknown[]) => {
    writeHead(...args)
    res.flushHeaders()
    return res
  }) as typeof res.writeHead
}
