import { randomUUID } from 'node:crypto'
import {
  isInitializeRequest,
  type McpHandlerRequestOptions,
  WebStandardStreamableHTTPServerTransport
} from '@modelcontextprotocol/server'
import { type HttpSession, type McpHub, stopListening } from './hub.ts'
import { principalOf } from './principal.ts'
import { whenBodyEnds } from './response-end.ts'
import type { ServingUnit } from './serving.ts'

export interface SessionLimits {
  readonly max_sessions: number
  /** Idle time in milliseconds after which a session is dropped. */
  readonly session_idle_ms: number
}

const SESSION_HEADER = 'mcp-session-id'

/** Sessions of the 2025 protocol over HTTP, which allow subscriptions and requests to the client. */
export class HttpSessions {
  readonly #hub: McpHub
  readonly #unit: ServingUnit
  readonly #limits: SessionLimits

  constructor(hub: McpHub, unit: ServingUnit, limits: SessionLimits) {
    this.#hub = hub
    this.#unit = unit
    this.#limits = limits
  }

  /** Returns whether a request belongs to a session or initializes one. */
  accepts(request: Request, body: unknown): boolean {
    return request.headers.has(SESSION_HEADER) || isInitializeRequest(body)
  }

  async handle(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER)
    if (id === null) return this.#begin(request, options)
    const session = this.#hub.sessions.get(id)
    // A session of another principal is reported as not found, like an ended session.
    if (session === undefined || session.live.principal.id !== principalOf(options.authInfo).id) {
      return refuse(404, -32_001, 'Session not found')
    }
    this.#unit.identify(session.live, principalOf(options.authInfo))
    return this.#exchange(session, request, options)
  }

  async #begin(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    if (!this.#makeRoom()) return refuse(503, -32_000, `Too many sessions: ${this.#hub.sessions.size} are in use`)
    const { sessions } = this.#hub
    const principal = principalOf(options.authInfo)
    const { mcp, live } = await this.#unit.lasting({ era: 'legacy', requestInfo: request }, principal)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => {
        sessions.set(id, { id, transport, live, stream: null, open: 0, lastUsed: Date.now() })
      }
    })
    // Changes are kept until the client opens its stream.
    live.listening = false
    const onclose = live.server.onclose
    live.server.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
      onclose?.()
    }
    await mcp.connect(transport)
    const response = await transport.handleRequest(request, options)
    // A failed initialize creates no session.
    if (transport.sessionId === undefined) await mcp.close()
    return response
  }

  async #exchange(session: HttpSession, request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    session.open += 1
    const ended = (): void => {
      session.open -= 1
      session.lastUsed = Date.now()
      // The client may have opened another stream meanwhile.
      if (session.stream === request) stopListening(session)
    }
    try {
      const response = await session.transport.handleRequest(request, options)
      if (request.method === 'GET' && response.ok) {
        session.stream = request
        this.#unit.resume(session.live)
      }
      return whenBodyEnds(response, ended)
    } catch (error) {
      ended()
      throw error
    }
  }

  /** Drops the session with the longest idle time if the limit is reached; returns false if all are in use. */
  #makeRoom(): boolean {
    const { sessions } = this.#hub
    if (sessions.size < this.#limits.max_sessions) return true
    const idle = [...sessions.values()].filter(each => each.open === 0).sort((a, b) => a.lastUsed - b.lastUsed)[0]
    if (idle === undefined) return false
    void idle.live.server.close()
    return true
  }
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
