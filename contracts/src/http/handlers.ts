import type { IncomingMessage, ServerResponse } from 'node:http'
import { type HttpMethod, point } from '@svc/plugin-sdk'
import type { HttpCaller } from './caller.ts'
import { routeKey } from './routes.ts'

/**
 * Routes that are handled without a web framework, for a plugin with many or frequently changing routes, or many
 * requests. To use Fastify's parsers, hooks or plugins, contribute to `httpRoutes`.
 */
export const httpHandlers = point<HttpHandlers>('http.handlers', {
  keys: ({ listener = 'main', routes, fallback }) => [
    ...routes.map(route => `${listener} ${routeKey(route.method, route.path)}`),
    ...(fallback === undefined ? [] : [`${listener} fallback`])
  ]
})

export interface HttpHandlers {
  /** The listener that serves the routes; default `main`. */
  readonly listener?: string
  readonly routes: readonly HttpHandlerRoute[]
  /**
   * `shared`: requests need the listener's bearer token, if it has one. `own`: the routes and the fallback check their
   * callers themselves; the listener still checks the Host and Origin headers. Default `shared`.
   */
  readonly auth?: 'shared' | 'own'
  /**
   * Handles requests that no route of the listener matches. Default: status 404, or 405 if the path has routes for
   * other methods.
   */
  readonly fallback?: HttpFallback
}

export interface HttpFallback {
  /**
   * Responds once, like {@link HttpHandlerRoute.handle}. `allowed` returns the methods of the routes at the path, for
   * the header `Allow`; empty if the path has no route.
   */
  handle(exchange: HttpExchange, allowed: () => readonly string[]): void
}

export interface HttpHandlerRoute {
  readonly method: HttpMethod
  /** Pattern in find-my-way's syntax: `/tasks/:id`, `/files/*`. A GET route handles HEAD as well. */
  readonly path: string
  /** One line for the API description. */
  readonly summary?: string
  /** Entry of the route in the API description, as an OpenAPI operation; default: only method and path. */
  readonly openapi?: Readonly<Record<string, unknown>>
  /**
   * Origins of pages that may call the route, in addition to the server's own and those of the settings, as in the header
   * `Origin`; `*` stands for every origin. Their calls get CORS headers without credentials.
   */
  readonly origins?: readonly string[]
  /** Responds once: by `send`, by `fail`, or by writing to the response. A throw has the effect of `fail`. */
  handle(exchange: HttpExchange): void
}

/** One request and its response. */
export interface HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly caller: HttpCaller
  /** Decoded parameters of the path; the match of `*` is named `*`. */
  readonly params: Readonly<Record<string, string | undefined>>
  /** The raw query string, without its question mark. */
  readonly query: string
  /**
   * Reads the whole body, which may be empty, and passes it to `take`. A body above the limit of the http plugin, or
   * above `limit` bytes, ends the exchange with `HTTP_BODY_TOO_LARGE`.
   */
  body(take: (bytes: Buffer) => void, limit?: number): void
  /** Sends a complete response. Does nothing if the client has disconnected. */
  send(status: number, type: string, body: string | Uint8Array, headers?: Readonly<Record<string, string>>): void
  /** Sends an error in the listener's error format. */
  fail(error: unknown): void
  /**
   * Returns the raw response, for one that is written in chunks, such as an event stream. Call it before writing the
   * head. The exchange then ends with the response.
   */
  stream(): ServerResponse
}
