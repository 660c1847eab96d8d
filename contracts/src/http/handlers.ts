import type { IncomingMessage, ServerResponse } from 'node:http'
import { type HttpMethod, point } from '@svc/plugin-sdk'
import type { HttpCaller } from './caller.ts'
import { routeKey } from './routes.ts'

/**
 * Routes that are answered without a web framework: for a plugin whose routes are data, of which there may be many, which
 * change often and which take many requests. Whatever needs parsers, hooks or plugins of Fastify is `httpRoutes`.
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
  /** Answers what no route of the listener takes. Without it that is 404, or 405 at a path that takes other methods. */
  readonly fallback?: HttpFallback
}

export interface HttpFallback {
  /**
   * Answers once, as {@link HttpHandlerRoute.handle}. `allowed` gives the methods that routes take at the path, for the
   * header `Allow`; none where there is no route.
   */
  handle(exchange: HttpExchange, allowed: () => readonly string[]): void
}

export interface HttpHandlerRoute {
  readonly method: HttpMethod
  /** As in find-my-way: `/tasks/:id`, `/files/*`. A GET route answers HEAD as well. */
  readonly path: string
  /** One line for the API description. */
  readonly summary?: string
  /** Its entry in the API description, in OpenAPI's terms; default: that it exists. */
  readonly openapi?: Readonly<Record<string, unknown>>
  /** Answers once: by `send`, by `fail`, or by writing to the response. A throw is as good as `fail`. */
  handle(exchange: HttpExchange): void
}

/** One request and the way to answer it. */
export interface HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly caller: HttpCaller
  /** Parameters of the path, decoded; what `*` took is named `*`. */
  readonly params: Readonly<Record<string, string | undefined>>
  /** The query as text, without its question mark. */
  readonly query: string
  /**
   * Reads the body whole, empty where there is none, and hands it over. One that is larger than the limit of the http
   * plugin, or than `limit` bytes, ends the exchange with `HTTP_BODY_TOO_LARGE`.
   */
  body(take: (bytes: Buffer) => void, limit?: number): void
  /** Answers with a whole body. Sends nothing where the client has gone. */
  send(status: number, type: string, body: string | Uint8Array, headers?: Readonly<Record<string, string>>): void
  /** Answers in the form that the listener has for failures. */
  fail(error: unknown): void
  /**
   * For an answer that is written piece by piece, such as a stream of events: to be called before its head is written.
   * The exchange then ends with the response.
   */
  stream(): ServerResponse
}
