import type { IncomingMessage, ServerResponse } from 'node:http'
import { type HttpMethod, point } from '@svc/plugin-sdk'
import type { HttpCaller } from './caller.ts'
import { routeKey } from './routes.ts'

/**
 * Routes that are answered without a web framework, for a plugin with many or frequently changing routes, or many
 * requests. For parsers, hooks or plugins of Fastify, use `httpRoutes`.
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
   * Answers requests that no route of the listener matches. Default: 404, or 405 if the path has routes for other
   * methods.
   */
  readonly fallback?: HttpFallback
}

export interface HttpFallback {
  /**
   * Answers once, as {@link HttpHandlerRoute.handle}. `allowed` returns the methods of the routes at the path, for the
   * header `Allow`; none without a route.
   */
  handle(exchange: HttpExchange, allowed: () => readonly string[]): void
}

export interface HttpHandlerRoute {
  readonly method: HttpMethod
  /** As in find-my-way: `/tasks/:id`, `/files/*`. A GET route answers HEAD as well. */
  readonly path: string
  /** One line for the API description. */
  readonly summary?: string
  /** Its entry in the API description, in OpenAPI's format; default: only its method and path. */
  readonly openapi?: Readonly<Record<string, unknown>>
  /** Answers once: by `send`, by `fail`, or by writing to the response. A throw has the effect of `fail`. */
  handle(exchange: HttpExchange): void
}

/** One request and the way to answer it. */
export interface HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly caller: HttpCaller
  /** Decoded parameters of the path; the match of `*` is named `*`. */
  readonly params: Readonly<Record<string, string | undefined>>
  /** The query as text, without its question mark. */
  readonly query: string
  /**
   * Reads the whole body, which may be empty, and passes it on. A body above the limit of the http plugin, or above
   * `limit` bytes, ends the exchange with `HTTP_BODY_TOO_LARGE`.
   */
  body(take: (bytes: Buffer) => void, limit?: number): void
  /** Answers with a whole body. Sends nothing if the client has disconnected. */
  send(status: number, type: string, body: string | Uint8Array, headers?: Readonly<Record<string, string>>): void
  /** Answers in the listener's format for failures. */
  fail(error: unknown): void
  /**
   * For an answer that is written piece by piece, such as a stream of events. Call it before writing the head. The
   * exchange then ends with the response.
   */
  stream(): ServerResponse
}
