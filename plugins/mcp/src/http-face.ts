import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import {
  createMcpHandler,
  InMemoryServerEventBus,
  isJsonContentType,
  isLegacyRequest,
  legacyStatelessFallback,
  type McpHandlerRequestOptions
} from '@modelcontextprotocol/server'
import type { Logger, Principal } from '@svc/plugin-sdk'
import type { McpHub } from './hub.ts'
import { authInfoOf } from './principal.ts'
import { refuse } from './refusal.ts'
import type { ServingUnit } from './serving.ts'
import { HttpSessions, type SessionLimits } from './sessions.ts'

export interface HttpSettings extends SessionLimits {
  readonly max_body_bytes: number
  readonly max_subscriptions: number
}

/**
 * Streamable HTTP, both eras, on one path:
 * - a request of the 2026 protocol is served by itself;
 * - one of the 2025 protocol in its session, or by itself when it names none and asks for none.
 */
export class HttpFace {
  readonly #sessions: HttpSessions
  readonly #calls: ReturnType<typeof createMcpHandler>
  /** Subscriptions alone, so that they can be ended while calls go on. */
  readonly #listens: ReturnType<typeof createMcpHandler>
  readonly #stateless: ReturnType<typeof legacyStatelessFallback>
  readonly #serve: ReturnType<typeof toNodeHandler>

  constructor(hub: McpHub, unit: ServingUnit, settings: HttpSettings, log: Logger) {
    const factory = unit.oneShot.bind(unit)
    const onerror = (error: Error): void => log.debug('MCP request refused', { error })
    const options = {
      legacy: 'reject',
      onerror,
      bus: new InMemoryServerEventBus(onerror),
      maxSubscriptions: settings.max_subscriptions
    } as const
    this.#sessions = new HttpSessions(hub, unit, settings)
    this.#calls = createMcpHandler(factory, options)
    this.#listens = createMcpHandler(factory, options)
    this.#stateless = legacyStatelessFallback(factory, onerror)
    this.#serve = toNodeHandler(
      { fetch: (request, given) => this.#dispatch(request, given ?? {}) },
      { onerror, maxRequestBodySize: settings.max_body_bytes }
    )
    unit.notify(this.#listens.notify)
  }

  handle(req: IncomingMessage, res: ServerResponse, principal: Principal): Promise<void> {
    if (req.method === 'GET') flushHead(res)
    return this.#serve(Object.assign(req, { auth: authInfoOf(principal) }) as never, res as never)
  }

  sweep(): void {
    this.#sessions.sweep()
  }

  /** Ends the streams on which clients wait for notices: this unit will have none. They come back to its successor. */
  retire(): void {
    void this.#listens.close()
    this.#sessions.endStreams()
  }

  /** Breaks off what is still running. */
  async close(): Promise<void> {
    await Promise.all([this.#listens.close(), this.#calls.close()])
  }

  async #dispatch(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    const posted = request.method === 'POST'
    if (posted && !isJsonContentType(request.headers.get('content-type'))) {
      return refuse(415, -32_000, 'Unsupported Media Type: Content-Type must be application/json')
    }
    const body = posted ? parse(await request.text()) : undefined
    if (body === INVALID) return refuse(400, -32_700, 'Parse error: the body is not valid JSON')
    const given = body === undefined ? options : { ...options, parsedBody: body }
    if (await isLegacyRequest(request, body)) {
      return this.#sessions.takes(request, body)
        ? this.#sessions.handle(request, given)
        : this.#stateless(request, given)
    }
    const method = (body as { method?: unknown } | null | undefined)?.method
    return method === 'subscriptions/listen' ? this.#listens.fetch(request, given) : this.#calls.fetch(request, given)
  }
}

/** A stream of notices may stay silent for long; its client wants to know at once that it is open. */
function flushHead(res: ServerResponse): void {
  const writeHead = res.writeHead.bind(res) as (...given: unknown[]) => ServerResponse
  res.writeHead = ((...given: unknown[]) => {
    writeHead(...given)
    res.flushHeaders()
    return res
  }) as typeof res.writeHead
}

const INVALID = Symbol('invalid JSON')

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return INVALID
  }
}
