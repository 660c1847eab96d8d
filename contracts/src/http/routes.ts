import { type HttpMethod, point, routeKey } from '@svc/plugin-sdk'

export { routeKey }

/**
 * Routes in a foreign wire format, which an operation's envelope cannot express.
 *
 * `routes` names every route that `register` adds, so that a conflict of two plugins is found before either serves.
 */
export const httpRoutes = point<HttpRoutes>('http.routes', {
  keys: item => item.routes.map(route => `${item.listener ?? 'main'} ${routeKey(route.method, route.path)}`)
})

export interface HttpRoutes {
  /** The listener that serves the routes; default `main`. */
  readonly listener?: string
  /** `summary` is one line for the API description. A GET route answers HEAD as well. */
  readonly routes: readonly { readonly method: HttpMethod; readonly path: string; readonly summary?: string }[]
  /**
   * Adds the routes to a Fastify 5 scope of this plugin's own. Typed loosely, since contracts carry no dependency:
   * write `register: app => …` with `app as unknown as FastifyInstance`.
   *
   * Bodies are JSON unless the scope adds other parsers; thrown errors are answered in the shared envelope unless it
   * sets an error handler. Handlers find the caller at `request.caller`, see {@link HttpCaller}.
   */
  register(app: unknown): void | Promise<void>
}

/**
 * A separate port for a plugin whose clients expect one. It serves the routes that name it and, unless such a route has
 * the same path, `/health`, `/ready` and `/metrics`. A listener whose name, host and port stay the same across a reload
 * keeps its socket.
 */
export const httpListeners = point<HttpListener>('http.listeners', { keys: item => [item.name] })

export interface HttpListener {
  readonly name: string
  readonly host: string
  readonly port: number
  /** The setting that chooses the port, named in the error when the port is taken. */
  readonly setting: string
  /**
   * Which side checks the Host and Origin headers, the bearer token and CORS: the http plugin by its settings, or the
   * routes of this listener, for a protocol with different rules. Default `shared`.
   */
  readonly guard?: 'shared' | 'own'
  /** Shape of failures that the http plugin answers, and of those given to `fail`. Default `envelope`. */
  readonly errors?: HttpErrorForm
}

/**
 * `envelope` is `{ error: { code, message, hint?, data?, request_id } }`, and `plain` is `{ error: MESSAGE, code, details?,
 * hint?, request_id }`.
 */
export type HttpErrorForm = 'envelope' | 'plain'

/** A condition of `/ready`. */
export const readiness = point<ReadinessCheck>('http.readiness', { keys: item => [item.name] })

export interface ReadinessCheck {
  readonly name: string
  check(): Promise<ReadinessResult> | ReadinessResult
}

export interface ReadinessResult {
  readonly ok: boolean
  /** One sentence for a person; never a secret. */
  readonly detail?: string
  /** Fields that `/ready` shows at its top level. */
  readonly data?: Readonly<Record<string, unknown>>
}

/** Prometheus text of a plugin, appended to `/metrics`. */
export const metricsText = point<{ readonly render: () => string | Promise<string> }>('http.metrics')
