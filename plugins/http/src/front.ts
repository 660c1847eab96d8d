import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Contribution, HttpErrorForms, HttpUpgrade, ObservabilitySpans } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { Caller } from './caller.ts'
import { endWith } from './end-socket.ts'
import { httpErrors } from './errors.ts'
import { Exchange, type ExchangeHost } from './exchange.ts'
import { ANONYMOUS, type Guard } from './guard.ts'
import { answerOptions } from './preflight.ts'
import { countRequest, type RequestCounts, type RouteSeries } from './request-metrics.ts'
import { checkTarget } from './request-target.ts'
import type { Route } from './route.ts'
import { MAX_URL_LENGTH, type Match, type RouteTable } from './route-table.ts'
import { writeError } from './write-error.ts'

export interface FrontParts {
  readonly table: RouteTable
  /** Fallback route for unmatched requests; null: they get status 404 or 405. */
  readonly fallback: Route | null
  readonly errors: HttpErrorForms
  readonly upgrades: ReadonlyMap<string, Contribution<HttpUpgrade>>
  readonly guard: Guard
  /** True if the routes check their callers themselves; the guard then only checks the host of other requests. */
  readonly ownGuard: boolean
  readonly counts: RequestCounts
  /** Counts of requests that match no route. */
  readonly unmatched: RouteSeries
  report(message: string, fields: Record<string, unknown>): void
  /** Called once per request, with its status and its duration in milliseconds. */
  record(exchange: Exchange, status: number, ms: number): void
  /** Records spans; undefined if no plugin does. */
  spans(): ObservabilitySpans | undefined
}

/** Handles the requests of one listener in one generation: guard, route lookup, metrics, dispatch. Immutable. */
export class Front {
  /** Format of errors. */
  readonly errors: HttpErrorForms
  readonly #table: RouteTable
  readonly #fallback: Route | null
  readonly #upgrades: ReadonlyMap<string, Contribution<HttpUpgrade>>
  readonly #guard: Guard
  readonly #ownGuard: boolean
  readonly #counts: RequestCounts
  readonly #report: FrontParts['report']
  readonly #host: ExchangeHost

  constructor({
    table,
    fallback,
    errors,
    upgrades,
    guard,
    ownGuard,
    counts,
    unmatched,
    report,
    record,
    spans
  }: FrontParts) {
    this.errors = errors
    this.#table = table
    this.#fallback = fallback
    this.#upgrades = upgrades
    this.#guard = guard
    this.#ownGuard = ownGuard
    this.#counts = counts
    this.#report = report
    this.#host = {
      table,
      finished: exchange => finish(exchange, counts, unmatched, record),
      sample: () => spans()?.sample() ?? false,
      within: (parent, run) => {
        const recorder = spans()
        if (recorder === undefined) run()
        else recorder.within(parent, run)
      }
    }
  }

  readonly request = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = new Exchange(response, ANONYMOUS, this.#host)
    this.#counts.inFlight += 1
    let route: Route | null
    try {
      route = this.#route(request, response, exchange)
    } catch (error) {
      this.#refuse(exchange, error)
      return
    }
    if (route === null) return
    route.unit?.enter()
    route.serve(exchange)
  }

  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const caller = new Caller(request, ANONYMOUS)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => caller.disconnect())
    try {
      checkTarget(request)
      const path = (request.url ?? '').split('?', 1)[0] as string
      if (this.#ownGuard) this.#guard.admitOrigin(request, null)
      else this.#guard.admit(request, null)
      const upgrade = this.#upgrades.get(path)
      this.#identify(request, caller, upgrade?.item.auth === 'own')
      if (upgrade === undefined) throw httpErrors.create('HTTP_NOT_FOUND', `no plugin accepts websockets at ${path}`)
      upgrade.item.handle(request, socket, head, caller)
    } catch (error) {
      this.#complain(error, caller, request)
      endWith(socket, error, caller.requestId, this.errors, request.url)
    }
  }

  /** Returns the route; null if the response has been sent already. */
  #route(request: IncomingMessage, response: ServerResponse, exchange: Exchange): Route | null {
    checkTarget(request)
    const method = request.method as string
    const url = request.url as string
    if (!this.#ownGuard) this.#guard.admitHost(request)
    try {
      this.#guard.admitOrigin(request, response)
    } catch (error) {
      // A route may accept origins that the listener does not.
      const origins = this.#originsOf(request)
      if (origins === undefined) throw error
      origins.admit(request, response)
    }
    if (url.length > MAX_URL_LENGTH) {
      throw httpErrors.create(
        'HTTP_PATH_TOO_LONG',
        `path and query have ${url.length} characters; the limit is ${MAX_URL_LENGTH} characters`
      )
    }
    // A browser's preflight carries no credentials.
    if (method === 'OPTIONS') return this.#options(request, response, exchange)
    const match = this.#table.find(method, url) ?? this.#otherwise(url)
    // No plugin checks a request for a route of this plugin, or for none.
    if (this.#ownGuard && (match?.store.unit ?? null) === null) this.#guard.admitHost(request)
    this.#identify(request, exchange, match?.store.open ?? false)
    if (match === null) throw this.#unknown(method, url, response)
    exchange.match = match
    return match.store
  }

  /** Returns the origins that only the requested route accepts; for a preflight, those of the announced method. */
  #originsOf({ method, url, headers }: IncomingMessage): Route['origins'] {
    if (url === undefined || url.length > MAX_URL_LENGTH) return undefined
    const sought = method === 'OPTIONS' ? headers['access-control-request-method'] : method
    return sought === undefined ? undefined : this.#table.find(sought, url)?.store.origins
  }

  #otherwise(url: string): Match | null {
    if (this.#fallback === null) return null
    const at = url.indexOf('?')
    return { store: this.#fallback, params: {}, searchParams: at < 0 ? '' : url.slice(at + 1) }
  }

  #identify(request: IncomingMessage, caller: Caller, open: boolean): void {
    if (this.#ownGuard) return
    const found = this.#guard.identify(request)
    if ('id' in found) caller.principal = found
    else if (!open) throw this.#guard.refuseToken(found)
  }

  #options(request: IncomingMessage, response: ServerResponse, exchange: Exchange): Route | null {
    const allowed = request.url === '*' ? ['OPTIONS'] : this.#table.allowed(request.url as string)
    if (allowed.length === 0 && this.#fallback !== null) {
      exchange.match = this.#otherwise(request.url as string)
      return this.#fallback
    }
    if (allowed.length === 0) throw this.#unknown('OPTIONS', request.url as string, response)
    exchange.label()
    answerOptions(request, response, allowed)
    exchange.answered()
    return null
  }

  #unknown(method: string, url: string, response: ServerResponse): Error {
    const path = this.#table.shownPath(url)
    const allowed = this.#table.allowed(url)
    if (allowed.length === 0) {
      return httpErrors.create('HTTP_NOT_FOUND', `no plugin serves ${path}`, {
        hint: 'GET /openapi.json lists the paths; svc plugins list shows the active plugins'
      })
    }
    response.setHeader('allow', allowed.join(', '))
    return httpErrors.create(
      'HTTP_METHOD_NOT_ALLOWED',
      `${path} does not accept ${method}; allowed methods: ${allowed.join(', ')}`
    )
  }

  #refuse(exchange: Exchange, error: unknown): void {
    this.#complain(error, exchange, exchange.request)
    exchange.label()
    exchange.errorCode = writeError(exchange.response, error, exchange.requestId, this.errors)
    exchange.answered()
  }

  #complain(error: unknown, { requestId }: Caller, { method, url }: IncomingMessage): void {
    if (isSvcError(error)) return
    const path = this.#table.shownPath(url ?? '')
    this.#report('a request failed', { error, request_id: requestId, method, path })
  }
}

/** Records a request whose response was passed to the socket, or whose client disconnected first. */
function finish(exchange: Exchange, counts: RequestCounts, unmatched: RouteSeries, record: FrontParts['record']): void {
  const { route, response, started } = exchange
  counts.inFlight -= 1
  const status = response.headersSent ? response.statusCode : 499
  const ms = performance.now() - started
  countRequest(route?.series ?? unmatched, status, ms / 1000)
  record(exchange, status, ms)
  if (route === undefined) return
  // Called before the unit's count drops: once nothing is in flight the unit may be disposed, but its Fastify instance
  // must be closed first.
  route.raw?.exit()
  route.unit?.exit()
}
