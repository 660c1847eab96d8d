import type { IncomingMessage, ServerResponse } from 'node:http'
import type { McpPrincipal } from '@svc/contracts'
import { defined, errorMessage, type Logger } from '@svc/plugin-sdk'
import type { HttpHandler, HttpSettings } from './http-handler.ts'
import { dropIdleSessions, endSessionStreams, type McpHub } from './hub.ts'
import type { HttpRequestCaller } from './principal.ts'
import type { ServingUnit } from './serving.ts'

/** JSON-RPC: internal error. */
const INTERNAL_ERROR = -32_603

/** Entry of Streamable HTTP. Loads the SDK at the first request, because loading it would slow every start. */
export class HttpEntry {
  readonly #hub: McpHub
  readonly #unit: ServingUnit
  readonly #settings: HttpSettings
  readonly #log: Logger
  #loading: Promise<HttpHandler> | undefined
  #handler: HttpHandler | undefined
  /** True after `retire`; also applies to a handler that is created later. */
  #retired = false
  #closed = false

  constructor(hub: McpHub, unit: ServingUnit, settings: HttpSettings, log: Logger) {
    this.#hub = hub
    this.#unit = unit
    this.#settings = settings
    this.#log = log
  }

  /** Handles one request; never rejects. */
  async handle(
    req: IncomingMessage,
    res: ServerResponse,
    principal: McpPrincipal,
    maxBodyBytes?: number,
    caller?: HttpRequestCaller
  ): Promise<void> {
    let handler: HttpHandler
    try {
      handler = this.#handler ?? (await (this.#loading ??= this.#load()))
    } catch (error) {
      caller?.recordError?.('MCP_SDK_UNAVAILABLE')
      this.#log.error('the MCP SDK cannot be loaded', { error, ...defined({ request_id: caller?.requestId }) })
      const message = `the MCP SDK cannot be loaded: ${errorMessage(error)}`
      res.writeHead(500, { 'content-type': 'application/json', connection: 'close' })
      res.end(JSON.stringify({ jsonrpc: '2.0', error: { code: INTERNAL_ERROR, message }, id: null }))
      return
    }
    await handler.handle(req, res, principal, maxBodyBytes, caller)
  }

  /** Drops sessions that have been idle for too long. */
  sweep(): void {
    dropIdleSessions(this.#hub, Date.now() - this.#settings.session_idle_ms)
  }

  /** Ends the notification streams for good: this unit sends nothing more. Clients reconnect to its successor. */
  retire(): void {
    this.#retired = true
    if (this.#handler === undefined) endSessionStreams(this.#hub)
    else this.#handler.retire()
  }

  /** Ends the notification streams once: this unit continues, and clients reconnect to it. */
  endStreams(): void {
    this.#retired = false
    if (this.#handler === undefined) endSessionStreams(this.#hub)
    else this.#handler.endStreams()
  }

  /** Aborts everything that is still running. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#handler?.close()
  }

  async #load(): Promise<HttpHandler> {
    const { HttpHandler } = await import('./http-handler.ts')
    const handler = new HttpHandler(this.#hub, this.#unit, this.#settings, this.#log)
    this.#handler = handler
    if (this.#retired) handler.retire()
    if (this.#closed) await handler.close()
    return handler
  }
}
