import {
  type ClientAddresses,
  type HttpExchange,
  type HttpHandlerRoute,
  type HttpHandlers,
  LEGACY_MESH_PATH,
  MESH_FEATURE_HEADER,
  MESH_FEATURES,
  MESH_PATH,
  readJsonRequest
} from '@svc/contracts'
import type { HttpMethod, Logger } from '@svc/plugin-sdk'
import type { Bearers } from './bearers.ts'
import type { HostGuard } from './host-guard.ts'
import type { MeshAnswer, MeshRoute } from './mesh-routes.ts'
import type { RateLimit } from './rate-limit.ts'
import { type RefusalReply, refusalOf, refuse, replyOf } from './refusal.ts'

export const LISTENER = 'mesh'
const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'
/** A body up to this multiple of the limit is read and discarded, so that its client receives the response. */
const DISCARD = 4

export interface ControlServerParts {
  readonly routes: readonly MeshRoute[]
  readonly guard: HostGuard
  readonly bearers: Bearers
  readonly addresses: ClientAddresses
  /** Null: clients are not limited. */
  readonly limit: RateLimit | null
  readonly maxBodyBytes: number
  /** Returns null if the control plane can serve, else why not. */
  readonly ready: () => Promise<string | null>
  readonly log: Pick<Logger, 'error'>
}

/** Returns the HTTP routes of the listener: those of the mesh under both paths, `/health` and `/ready`. */
export function controlServer(parts: ControlServerParts): HttpHandlers {
  const served = ({ method, path, summary, ...route }: MeshRoute, base: string): HttpHandlerRoute => ({
    method,
    path: base + path,
    summary,
    handle: exchange =>
      void serve(exchange, parts, () => callRoute(exchange, parts, { method, path, summary, ...route }))
  })
  const plain = (
    method: HttpMethod,
    path: string,
    summary: string,
    run: () => Promise<MeshReply>
  ): HttpHandlerRoute => ({
    method,
    path,
    summary,
    handle: exchange => void serve(exchange, parts, run, { isCheck: true })
  })
  return {
    listener: LISTENER,
    auth: 'own',
    routes: [
      ...[MESH_PATH, LEGACY_MESH_PATH].flatMap(base => parts.routes.map(route => served(route, base))),
      plain('GET', '/health', 'Check that the control plane responds', async () => text(200, 'ok\n')),
      plain('GET', '/ready', 'Check that the control plane can serve', async () => {
        const reason = await parts.ready()
        return reason === null ? text(200, 'ready\n') : refused(replyOf(refuse('MSC_UNAVAILABLE', reason)))
      }),
      // The http plugin would serve them without the checks of this plugin.
      plain('GET', '/metrics', 'Not served here', async () => notFound())
    ],
    fallback: {
      handle: (exchange, allowed) => {
        void serve(exchange, parts, async () => {
          const methods = allowed()
          return methods.length === 0 ? notFound() : notAllowed(methods)
        })
      }
    }
  }
}

interface MeshReply {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  /** Code of a refusal, for the access record. */
  readonly code?: string
}

/** Checks the host, runs a route and sends its response. */
async function serve(
  exchange: HttpExchange,
  parts: ControlServerParts,
  run: () => Promise<MeshReply>,
  options: { readonly isCheck?: boolean } = {}
): Promise<void> {
  let reply: MeshReply
  try {
    parts.guard.admit(exchange.request, options)
    reply = await run()
  } catch (error) {
    const known = refusalOf(error)
    // A body that ends early because its client disconnected is no fault of this plugin.
    if (known === null && exchange.caller.cancelled !== true) {
      const { method, url } = exchange.request
      const path = url?.split('?', 1)[0]
      parts.log.error('a request of the mesh failed', { error, request_id: exchange.caller.requestId, method, path })
    }
    reply = refused(
      known ?? replyOf(refuse('MSC_INTERNAL', 'the request failed; the log of the control plane has the cause'))
    )
  }
  if (reply.code !== undefined) exchange.caller.recordError?.(reply.code)
  // An unread body must not keep the connection busy.
  if (!exchange.request.complete) exchange.request.resume()
  send(exchange, reply)
}

function send(exchange: HttpExchange, { status, type, body, headers }: MeshReply): void {
  const all = { ...headers, [MESH_FEATURE_HEADER]: FEATURES }
  if (status !== 204 && status !== 304) {
    exchange.send(status, type, body, all)
    return
  }
  // These statuses have neither a body nor headers about it.
  const response = exchange.stream()
  if (!response.destroyed) response.writeHead(status, all).end()
}

const FEATURES = MESH_FEATURES.join(',')

async function callRoute(exchange: HttpExchange, parts: ControlServerParts, route: MeshRoute): Promise<MeshReply> {
  const { request, caller, query } = exchange
  const client = parts.addresses.keyOf(request)
  await parts.limit?.take(client)
  if (route.access !== null) await parts.bearers.check(request, client, route.access)
  const body =
    route.method === 'GET'
      ? undefined
      : await readJsonRequest(request, { maxBytes: parts.maxBodyBytes, mediaType: 'json', discard: DISCARD })
  return replyTo(await route.run(body, { caller, client, query, headers: request.headers }))
}

function replyTo({ status, json, value, headers = {} }: MeshAnswer): MeshReply {
  const body = json ?? (value === undefined ? '' : JSON.stringify(value))
  return { status: status ?? (body === '' ? 204 : 200), type: JSON_TYPE, body, headers }
}

function text(status: number, body: string): MeshReply {
  return { status, type: TEXT_TYPE, body, headers: {} }
}

function refused({ status, code, body, headers }: RefusalReply): MeshReply {
  return { status, type: TEXT_TYPE, body, headers, code }
}

function notFound(): MeshReply {
  return refused(replyOf(refuse('MSC_NOT_FOUND', 'there is no such path')))
}

function notAllowed(methods: readonly string[]): MeshReply {
  const reply = refused(replyOf(refuse('MSC_METHOD', `the path accepts only ${methods.join(', ')}`)))
  return { ...reply, headers: { ...reply.headers, allow: methods.join(', ') } }
}
