import { isUtf8 } from 'node:buffer'
import { type HttpEndpoint, type HttpExchange, type HttpHandlerRoute, httpInputOf } from '@svc/contracts'
import { unixMs } from '@svc/plugin-sdk'
import type { AppCall } from '../apps/call-log.ts'
import { runErrors } from '../errors.ts'
import { OK } from './endpoint-runner.ts'
import type { Endpoint } from './endpoints.ts'
import type { Lookups } from './lookups.ts'
import type { EndedCall, RouteInput } from './messages.ts'
import type { ProgramPool } from './program-pool.ts'
import type { CallOrigin } from './program-thread-handle.ts'
import { sendAnswer } from './send-answer.ts'

/** Returns the routes of a program's functions. Queries that `lookups` cannot run go to the pool. */
export function programRoutes(
  endpoints: readonly Endpoint[],
  pool: Pick<ProgramPool, 'call'>,
  lookups: Pick<Lookups, 'answer' | 'statements' | 'lastStatements'> | null = null,
  onCall: OnCall = () => undefined,
  onEnd: OnEnd = () => undefined
): HttpHandlerRoute[] {
  return endpoints.flatMap((endpoint, index) => {
    const { route, kind, name } = endpoint
    if (route === null) return []
    const call = (exchange: HttpExchange, input: string): void => {
      const started = performance.now()
      const { requestId } = exchange.caller
      const send = (status: number, body: string, sql: number | null = null): void => {
        sendAnswer(exchange, status, body)
        const ms = Math.round((performance.now() - started) * 1000) / 1000
        const { method, path } = route
        onCall({ time: Date.now(), method, path, name: summary, status, ms, sql, request_id: requestId })
      }
      const found = kind === 'query' && lookups !== null ? lookups.answer(index, input) : null
      if (found === null || lookups === null) {
        pool.call(index, input, send, exchange.caller)
        return
      }
      const { caller } = exchange
      // Threads send the statements of such calls, too; a lookup is never slow.
      if (found.status !== OK || caller.trace?.sampled === true) {
        const ms = performance.now() - started
        const statements = lookups.lastStatements()
        const end = { name: summary, start: unixMs() - ms, ms, error: null, status: found.status, statements }
        onEnd({ ...end, statementCount: statements.length }, caller, started)
      }
      send(found.status, found.body, lookups.statements(index))
    }
    const summary = kind === 'route' ? name : `${kind} ${name}`
    return [{ method: route.method, path: route.path, summary, handle: handlerOf(endpoint as HttpEndpoint, call) }]
  })
}

/** Receives the times and statements of a failed or recorded lookup. `since`: when the call was made. */
export type OnEnd = (end: EndedCall, origin: CallOrigin, since: number) => void

/** Receives each call of a route after its response was sent. */
export type OnCall = (call: Omit<AppCall, 'id' | 'app'>) => void

type Make = (exchange: HttpExchange, input: string) => void

function handlerOf(endpoint: HttpEndpoint, call: Make): HttpHandlerRoute['handle'] {
  const { kind } = endpoint
  const { body } = httpInputOf(endpoint)
  if (kind === 'query') return exchange => call(exchange, exchange.query)
  if (kind !== 'route') return exchange => withJson(exchange, text => call(exchange, text))
  if (body.kind === 'none') return exchange => call(exchange, routeInput(exchange, ''))
  const withBody = body.kind === 'any' ? withText : withJson
  return exchange => withBody(exchange, text => call(exchange, routeInput(exchange, text)))
}

const JSON_MEDIA_TYPE = /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/** Reads a JSON body. A body without a content type is treated as JSON. */
function withJson(exchange: HttpExchange, onText: (text: string) => void): void {
  const type = exchange.request.headers['content-type']
  if (type === undefined || type === 'application/json' || JSON_MEDIA_TYPE.test(type)) {
    withText(exchange, onText)
    return
  }
  // The body is read first: a client that is still writing would see a connection reset instead of the error.
  exchange.body(bytes => {
    if (bytes.length === 0) {
      onText('')
      return
    }
    const message = `the body has the content type "${type}"; this route accepts JSON`
    exchange.fail(runErrors.create('RUN_MEDIA_TYPE', message, { hint: 'send it with content-type: application/json' }))
  })
}

function withText(exchange: HttpExchange, onText: (text: string) => void): void {
  exchange.body(bytes => {
    if (isUtf8(bytes)) onText(bytes.toString('utf8'))
    else exchange.fail(runErrors.create('RUN_BODY', 'the body is not UTF-8 text'))
  })
}

/** Headers with the token of the service, which programs must not see. */
const WITHHELD: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization'])

function routeInput({ params, query, request }: HttpExchange, body: string): string {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined || WITHHELD.has(name) ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const]
  )
  const pathValues = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const]
  )
  const input: RouteInput = {
    params: Object.fromEntries(pathValues),
    query,
    headers: Object.fromEntries(headers),
    body
  }
  return JSON.stringify(input)
}
