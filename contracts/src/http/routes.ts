import { type HttpMethod, point, routeKey } from '@svc/plugin-sdk'

export { routeKey }

/**
 * Routes with a wire format that an operation's envelope cannot express.
 *
 * `routes` lists every route that `register` adds, so that conflicts between plugins are found before they serve.
 */
export const httpRoutes = point<HttpRoutes>('http.routes', {
  keys: item => item.routes.map(route => `${item.listener ?? 'main'} ${routeKey(route.method, route.path)}`)
})

export interface HttpRoutes {
  /** The listener that serves the routes; default `main`. */
  readonly listener?: string
  /** `summary` is one line for the API description. A GET route handles HEAD as well. */
  readonly routes: readonly { readonly method: HttpMethod; readonly path: string; readonly summary?: string }[]
  /**
   * Adds the routes to the plugin's own Fastify 5 scope. `app` is `unknown` because the contracts have no dependencies:
   * cast it with `app as unknown as FastifyInstance`.
   *
   * Bodies are JSON unless the scope adds other parsers. Thrown errors are sent in the shared envelope unless the scope
   * sets an error handler. Handlers find the caller at `request.caller`, see {@link HttpCaller}.
   */
  register(app: unknown): void | Promise<void>
}

/**
 * Listeners on separate ports, for plugins whose clients expect one. A listener serves the routes that name it, and
 * `/health`, `/ready` and `/metrics` unless one of its routes has that path. A reload keeps the socket of a listener
 * whose name, host and port stay the same.
 */
export const httpListeners = point<HttpListener>('http.listeners', { keys: item => [item.name] })

export interface HttpListener {
  readonly name: string
  readonly host: string
  readonly port: number
  /** The setting that chooses the port; the error for a port in use names it. */
  readonly setting: string
  /**
   * `shared`: the http plugin checks the Host and Origin headers, the bearer token and CORS by its settings. `own`: the
   * routes of this listener check them, for a protocol with different rules; `/health`, `/ready` and `/metrics` of the
   * http plugin still check the Host header. Default `shared`.
   */
  readonly guard?: 'shared' | 'own'
  /**
   * Origins whose pages may call the listener: they get CORS headers, and their preflights are answered. Pages of other
   * origins get status 403. Default: `cors_origins` of the http plugin; for the guard `own`, the routes check origins.
   */
  readonly origins?: HttpOrigins
  /**
   * Format of errors that the http plugin sends, and of those passed to `fail`. An object has a format for each beginning
   * of a path; the longest that matches is used. Default `envelope`.
   */
  readonly errors?: HttpErrorForms
  /**
   * Whether the http plugin serves the page `/docs`, which shows the listener's own route `/openapi.json` and calls its
   * routes. Default false; `main` always has it.
   */
  readonly apiPage?: boolean
  /**
   * Milliseconds for which the listener still accepts connections after svc began to stop. In that time, a route of the
   * plugin can answer 503 on `/ready`, so that a load balancer sends no more requests. Default 0.
   */
  readonly closeDelayMs?: number
}

export interface HttpOrigins {
  /**
   * Origins such as `https://example.org`; `*` for all. In a longer entry, `*` at the end of a port is any port, as in
   * `http://localhost:*`, and elsewhere any text without a slash, as in `app://*`.
   */
  readonly allowed: readonly string[]
  /** The setting that chooses them; the error for another origin names it. */
  readonly setting: string
}

/**
 * Format of an error. `envelope`: `{ error: { code, message, hint?, data?, request_id } }`. `plain`: `{ error: MESSAGE,
 * code, details?, hint?, request_id }`. `openai`: `{ error: { message, type, param, code, request_id } }`, as clients of
 * the OpenAI API expect it.
 */
export type HttpErrorForm = 'envelope' | 'plain' | 'openai'

/** One format of errors, or a format for each beginning of a path. */
export type HttpErrorForms = HttpErrorForm | Readonly<Record<`/${string}`, HttpErrorForm>>

/** A condition of `/ready`. */
export const readiness = point<ReadinessCheck>('http.readiness', { keys: item => [item.name] })

export interface ReadinessCheck {
  readonly name: string
  check(): Promise<ReadinessResult> | ReadinessResult
}

export interface ReadinessResult {
  readonly ok: boolean
  /** One human-readable sentence; never a secret. */
  readonly detail?: string
  /** Fields that `/ready` shows at its top level. */
  readonly data?: Readonly<Record<string, unknown>>
}

/** Metrics of plugins in the Prometheus text format, appended to `/metrics`. */
export const metricsText = point<{ readonly render: () => string | Promise<string> }>('http.metrics')
