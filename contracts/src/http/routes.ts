import { type HttpMethod, point } from '@svc/plugin-sdk'

/**
 * Routes in somebody else's wire format, which an operation's envelope cannot express.
 *
 * `routes` names every route that `register` adds, so that two plugins with one route are found before either serves.
 */
export const httpRoutes = point<HttpRoutes>('http.routes', {
  keys: item => item.routes.map(route => `${item.listener ?? 'main'} ${routeKey(route.method, route.path)}`)
})

export interface HttpRoutes {
  /** The listener that serves the routes; default `main`. */
  readonly listener?: string
  readonly routes: readonly { readonly method: HttpMethod; readonly path: string }[]
  /**
   * Adds the routes to this plugin's own Fastify instance (Fastify 5). Typed loosely, since contracts carry no
   * dependency: write `register: app => …` with `app as unknown as FastifyInstance`.
   */
  register(app: unknown): void | Promise<void>
}

/**
 * A port of its own for a plugin whose clients expect one. It serves the routes that name it, and `/health` and `/metrics`.
 * A listener whose name, host and port stay the same across a reload keeps its socket.
 */
export const httpListeners = point<HttpListener>('http.listeners', { keys: item => [item.name] })

export interface HttpListener {
  readonly name: string
  readonly host: string
  readonly port: number
  /** The setting that chooses the port, named in the error when the port is taken. */
  readonly setting: string
}

/** A condition of `/ready`. */
export const readiness = point<ReadinessCheck>('http.readiness', { keys: item => [item.name] })

export interface ReadinessCheck {
  readonly name: string
  check():
    | Promise<{ readonly ok: boolean; readonly detail?: string }>
    | { readonly ok: boolean; readonly detail?: string }
}

/** Prometheus text of a plugin, appended to `/metrics`. */
export const metricsText = point<{ readonly render: () => string | Promise<string> }>('http.metrics')

/** Parameter names do not tell routes apart: `GET /a/:x` and `GET /a/:y` are one route. */
export function routeKey(method: string, path: string): string {
  return `${method} ${path.replace(/:[^/]+/g, ':')}`
}
