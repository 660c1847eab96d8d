import { isUtf8 } from 'node:buffer'
import type { HttpEndpointRoute, HttpExchange, HttpHandlerRoute } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import type { Endpoint } from './endpoints.ts'
import type { Lookups } from './lookups.ts'
import type { RouteInput } from './messages.ts'
import type { ProgramPool } from './program-pool.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Routes of the functions of a program. `lookups` answers what it can, and the pool the rest. */
export function programRoutes(
  endpoints: readonly Endpoint[],
  pool: Pick<ProgramPool, 'call'>,
  lookups: Pick<Lookups, 'answer'> | null = null
): HttpHandlerRoute[] {
  return endpoints.flatMap((endpoint, index) => {
    const { route, kind, name } = endpoint
    if (route === null) return []
    const call = (exchange: HttpExchange, input: string): void => {
      const found = kind === 'query' && lookups !== null ? lookups.answer(index, input) : null
      if (found !== null) exchange.send(found.status, JSON_TYPE, found.body)
      else pool.call(index, input, (status, body) => exchange.send(status, JSON_TYPE, body))
    }
    const summary = kind === 'route' ? name : `${kind} ${name}`
    return [{ method: route.method, path: route.path, summary, handle: handlerOf(endpoint, route, call) }]
  })
}

type Make = (exchange: HttpExchange, input: string) => void

function handlerOf({ kind }: Endpoint, { method }: HttpEndpointRoute, call: Make): HttpHandlerRoute['handle'] {
  if (kind === 'query') return exchange => call(exchange, exchange.query)
  if (kind !== 'route') return exchange => withBody(exchange, body => call(exchange, body))
  if (method === 'POST' || method === 'PUT') {
    return exchange => withBody(exchange, body => call(exchange, routeInput(exchange, body)))
  }
  return exchange => call(exchange, routeInput(exchange, ''))
}

function withBody(exchange: HttpExchange, take: (text: string) => void): void {
  exchange.body(bytes => {
    if (isUtf8(bytes)) {
      take(bytes.toString('utf8'))
      return
    }
    const { status, code } = runErrors.create('RUN_BODY', 'the body is no text in UTF-8')
    exchange.send(status, JSON_TYPE, JSON.stringify({ error: 'the body is no text in UTF-8', code }))
  })
}

/** The token of the service itself is not for programs. */
const WITHHELD: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization'])

function routeInput({ params, query, request }: HttpExchange, body: string): string {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined || WITHHELD.has(name) ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const]
  )
  const given = Object.entries(params).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  const input: RouteInput = {
    params: Object.fromEntries(given),
    query,
    headers: Object.fromEntries(headers),
    body
  }
  return JSON.stringify(input)
}
