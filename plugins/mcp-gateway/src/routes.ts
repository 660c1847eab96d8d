import type { HttpExchange, HttpFallback, HttpHandlerRoute, HttpHandlers, McpHttpEndpoint } from '@svc/contracts'
import type { HttpMethod, Ref } from '@svc/plugin-sdk'
import type { Gate, Zone } from './gate/gate.ts'
import { type Refusal, refusal } from './gate/refusal.ts'
import type { Role } from './gate/role.ts'
import { describeGateway, type GatewayInfo } from './info.ts'
import { MAX_BODY_BYTES, readToolCall } from './json-body.ts'
import type { MobileFile } from './mobile/files.ts'
import { mobileStatus } from './mobile/status.ts'
import { failure, type ToolAnswer, type ToolDispatcher } from './tools/tool-dispatcher.ts'

export const LISTENER = 'mcp-gateway'
const JSON_TYPE = 'application/json; charset=utf-8'

export interface RouteParts {
  readonly gate: Gate
  readonly dispatcher: ToolDispatcher
  readonly info: GatewayInfo
  readonly mcp: Ref<McpHttpEndpoint>
  /** Files of the page by path. */
  readonly mobile: ReadonlyMap<string, MobileFile>
}

type Handle = (exchange: HttpExchange, role: Role) => void

/** Returns all HTTP routes of the gateway. */
export function gatewayRoutes({ gate, dispatcher, info, mcp, mobile }: RouteParts): HttpHandlers {
  const behind =
    (zone: Zone, handle: Handle) =>
    (exchange: HttpExchange): void => {
      const verdict = gate.check(exchange.request, zone)
      if (verdict.refusal === null) handle(exchange, verdict.role)
      else refuse(exchange, verdict.refusal)
    }
  const route = (method: HttpMethod, path: string, summary: string, handle: Handle, zone: Zone = 'tools') =>
    ({ method, path, summary, handle: behind(zone, handle) }) satisfies HttpHandlerRoute

  const call: Handle = (exchange, role) => callTool(exchange, role, dispatcher)
  const serveMcp: Handle = (exchange, role) => {
    const response = exchange.stream()
    void mcp.current.handle(exchange.request, response, dispatcher.principal(role), MAX_BODY_BYTES, exchange.caller)
  }
  const absent: Handle = exchange => refuse(exchange, NOT_FOUND)
  const fallback: HttpFallback = {
    handle: (exchange, allowed) => behind('tools', notServed => refuseUnserved(notServed, allowed()))(exchange)
  }
  return {
    listener: LISTENER,
    routes: [
      route('GET', '/health', 'Check that the gateway responds', answerHealth, 'health'),
      route('GET', '/v1/info', 'Show the roles and tools of the gateway', exchange =>
        sendJson(exchange, describeGateway(info, dispatcher, gate.perMinute))
      ),
      route('GET', '/v1/tools', 'List the tools that the caller may call', (exchange, role) =>
        sendJson(exchange, { success: true, tools: dispatcher.list(role).map(describeTool) })
      ),
      route('POST', '/v1/tools', 'Call a tool', call),
      route('POST', '/v1/tools/call', 'Call a tool', call),
      route('GET', '/v1/ws', 'Open a websocket for tools and events', exchange => refuse(exchange, UPGRADE_REQUIRED)),
      route('GET', '/v1/mobile/status', 'Show the state of the project', (exchange, role) => {
        mobileStatus(dispatcher, role, exchange.caller).then(
          status => sendJson(exchange, status),
          error => exchange.fail(error)
        )
      }),
      ...[...mobile].map(([path, file]) =>
        route('GET', path, 'Part of the page for phones', exchange => sendFile(exchange, file), 'page')
      ),
      ...(['GET', 'POST', 'DELETE'] as const).map(method =>
        route(method, '/mcp', 'Model Context Protocol (Streamable HTTP)', serveMcp)
      ),
      // The http plugin serves these paths on every listener without the gateway's checks, unless a route overrides
      // them.
      route('GET', '/ready', 'Not served here', absent),
      route('GET', '/metrics', 'Not served here', absent)
    ],
    fallback
  }
}

const NOT_FOUND = refusal('GWY_NOT_FOUND', 404, 'not found')
const UPGRADE_REQUIRED = refusal('GWY_UPGRADE_REQUIRED', 426, 'a websocket handshake is expected', {
  connection: 'Upgrade',
  upgrade: 'websocket'
})

function refuse(exchange: HttpExchange, { code, status, body, headers }: Refusal): void {
  exchange.caller.recordError?.(code)
  exchange.send(status, JSON_TYPE, body, headers)
}

function refuseUnserved(exchange: HttpExchange, allowed: readonly string[]): void {
  if (allowed.length === 0) refuse(exchange, NOT_FOUND)
  else refuse(exchange, refusal('GWY_METHOD_NOT_ALLOWED', 405, 'method not allowed', { allow: allowed.join(', ') }))
}

function sendJson(exchange: HttpExchange, value: unknown): void {
  exchange.send(200, JSON_TYPE, JSON.stringify(value))
}

function sendFile(exchange: HttpExchange, { type, body, headers }: MobileFile): void {
  exchange.send(200, type, body, headers)
}

function answerHealth(exchange: HttpExchange): void {
  if (prefersText(exchange.request.headers.accept)) exchange.send(200, 'text/plain; charset=utf-8', 'ok')
  else sendJson(exchange, { status: 'ok' })
}

/** Returns whether an Accept header prefers text to JSON. */
function prefersText(accept = ''): boolean {
  const text = accept.indexOf('text/plain')
  const json = accept.indexOf('application/json')
  return text >= 0 && (json < 0 || text < json)
}

function describeTool({ name, description, inputSchema, lane }: ReturnType<ToolDispatcher['list']>[number]) {
  return { name, description, input_schema: inputSchema, ...(lane === null ? {} : { product_lane: lane }) }
}

function callTool(exchange: HttpExchange, role: Role, dispatcher: ToolDispatcher): void {
  readToolCall(exchange, ({ name, args }) => {
    dispatcher.call(role, name, args, exchange.caller).then(
      ({ code, ...answer }) => {
        if (code !== null) exchange.caller.recordError?.(code)
        sendAnswer(exchange, answer)
      },
      error => exchange.fail(error)
    )
  })
}

function sendAnswer(exchange: HttpExchange, answer: Omit<ToolAnswer, 'code'>): void {
  let body: string
  try {
    body = JSON.stringify(answer)
  } catch (error) {
    // The result of the tool cannot be serialised.
    const { code, ...failed } = failure('GWY_RESULT_INVALID', `the result is not JSON: ${(error as Error).message}`)
    exchange.caller.recordError?.(code)
    body = JSON.stringify(failed)
  }
  exchange.send(200, JSON_TYPE, body)
}
