import { isUtf8 } from 'node:buffer'
import { type HttpEndpoint, type HttpExchange, type HttpHandlerRoute, httpInputOf } from '@svc/contracts'
import { defined, unixMs } from '@svc/plugin-sdk'
import type { AppCall } from '../apps/call-log.ts'
import type { Admitted, EndpointGuard, Guards } from '../auth/guard.ts'
import { refuse } from '../auth/refuse.ts'
import { runErrors } from '../errors.ts'
import { ANONYMOUS_TEXT } from '../interpreter/request.ts'
import { Uploads } from '../storage/uploads.ts'
import { printJson } from '../wire/json-text.ts'
import { OK } from './endpoint-runner.ts'
import type { Endpoint } from './endpoints.ts'
import type { Lookups } from './lookups.ts'
import type { EndedCall, RouteInput } from './messages.ts'
import type { ProgramPool, Respond } from './program-pool.ts'
import type { CallOrigin } from './program-thread-handle.ts'
import { sendAnswer } from './send-answer.ts'
import { sendResponse } from './send-response.ts'

export interface RouteParts {
  /** Name of the app, for the log of calls. */
  readonly app: string
  readonly endpoints: readonly Endpoint[]
  readonly pool: Pick<ProgramPool, 'call'>
  readonly guards: Pick<Guards, 'of' | 'originsOf'>
  readonly lookups?: Pick<Lookups, 'answer' | 'statements' | 'lastStatements'> | null
  readonly onCall?: OnCall
  readonly onEnd?: OnEnd
  /** Whether `onEnd` receives all lookups; default: only the failed and recorded ones. */
  readonly showsCalls?: boolean
  /** Public directory, below which the files of `Response.file` are. */
  readonly folder: string
  /** Receives forms with files; null if the program stores none. */
  readonly uploads?: Pick<Uploads, 'paramsOf' | 'receive'> | null
}

/** Returns the routes of a program's functions. Queries that `lookups` cannot run go to the pool. */
export function programRoutes({
  app,
  endpoints,
  pool,
  guards,
  lookups = null,
  onCall = () => undefined,
  onEnd = () => undefined,
  showsCalls = false,
  uploads = null,
  folder
}: RouteParts): HttpHandlerRoute[] {
  return endpoints.flatMap((endpoint, index) => {
    const { route, kind, name } = endpoint
    if (route === null) return []
    const call: Call = (exchange, input, caller, onAnswer) => {
      const started = performance.now()
      const { requestId } = exchange.caller
      const send: Respond = (status, body, sql = null, response) => {
        if (response === undefined) sendAnswer(exchange, status, body)
        else sendResponse(exchange, status, response, folder)
        onAnswer?.(status)
        record(status, started, requestId, sql)
      }
      const found = kind === 'query' && lookups !== null ? lookups.answer(index, input, caller) : null
      if (found === null || lookups === null) {
        pool.call(index, input, send, exchange.caller, caller)
        return
      }
      const origin = exchange.caller
      // Threads report such calls, too; a lookup is never slow.
      const isNotable = found.status !== OK || origin.trace?.sampled === true
      if (isNotable || showsCalls) {
        const ms = performance.now() - started
        const statements = lookups.lastStatements()
        const end = { name: summary, start: unixMs() - ms, ms, error: null, status: found.status, statements }
        onEnd({ ...end, statementCount: statements.length, isOnlyShown: !isNotable }, origin, started)
      }
      send(found.status, found.body, lookups.statements(index))
    }
    const summary = kind === 'route' ? name : `${kind} ${name}`
    const record: RecordCall = (status, started, request_id, sql) => {
      const { method, path } = route
      const ms = Math.round((performance.now() - started) * 1000) / 1000
      onCall({ app, time: Date.now(), method, path, name: summary, status, ms, sql, request_id })
    }
    const handle = guarded(guards.of(name), handlerOf(endpoint as HttpEndpoint, call, uploads), record)
    return [
      { method: route.method, path: route.path, summary, handle, ...defined({ origins: guards.originsOf(name) }) }
    ]
  })
}

/** The first status that refuses a request. */
const FIRST_FAILURE = 400

/** Receives the times and statements of a lookup. `since`: when the call was made. */
export type OnEnd = (end: EndedCall, origin: CallOrigin, since: number) => void

/** Receives each call of a route after its response was sent. */
export type OnCall = (call: AppCall) => void

/** `onAnswer` receives the status of the response. */
type Call = (exchange: HttpExchange, input: string, caller: string, onAnswer?: (status: number) => void) => void
type Handle = (exchange: HttpExchange, caller: string) => void

type RecordCall = (status: number, started: number, requestId: string, sql: number | null) => void

function guarded(guard: EndpointGuard | null, handle: Handle, record: RecordCall): HttpHandlerRoute['handle'] {
  if (guard === null) return exchange => handle(exchange, ANONYMOUS_TEXT)
  const next = (exchange: HttpExchange, { text }: Admitted): void => handle(exchange, text)
  return exchange => {
    const started = performance.now()
    guard.admit(exchange, next, (refused, refusal) => {
      record(refuse(refused, refusal), started, refused.caller.requestId, 0)
    })
  }
}

function handlerOf(endpoint: HttpEndpoint, call: Call, uploads: RouteParts['uploads'] = null): Handle {
  const { kind } = endpoint
  const { body } = httpInputOf(endpoint)
  if (kind === 'query') return (exchange, caller) => call(exchange, exchange.query, caller)
  if (body.kind === 'none') return (exchange, caller) => call(exchange, routeInput(exchange, ''), caller)
  const input = kind === 'route' ? routeInput : (_: HttpExchange, text: string) => text
  const withBody = body.kind === 'any' ? withText : withJson
  const handle: Handle = (exchange, caller) => {
    withBody(exchange, text => call(exchange, input(exchange, text), caller))
  }
  const files = uploads?.paramsOf(endpoint.params)
  if (!uploads || files === undefined || files.size === 0) return handle
  const params = body.kind === 'whole' ? [body.param] : endpoint.params
  return (exchange, caller) => {
    if (!Uploads.isForm(exchange.request)) {
      handle(exchange, caller)
      return
    }
    uploads
      .receive(exchange, params, files)
      .then(({ values, discard }) => {
        const json = body.kind === 'whole' ? (values[body.param.name] ?? null) : values
        call(exchange, input(exchange, printJson(json)), caller, status => {
          // A redirect or 201 is a success, whose files may be used later.
          if (status >= FIRST_FAILURE) void discard().catch(() => undefined)
        })
      })
      .catch((error: unknown) => exchange.fail(error))
  }
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

function routeInput({ params, query }: HttpExchange, body: string): string {
  const pathValues = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const]
  )
  const input: RouteInput = {
    params: Object.fromEntries(pathValues),
    query,
    body
  }
  return JSON.stringify(input)
}
