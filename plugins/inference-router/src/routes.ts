import type { HttpExchange, HttpHandlers } from '@svc/contracts'
import { routerErrors } from './errors.ts'
import type { Guard } from './guard.ts'
import { openAiList, openAiModel, runningList, tagList } from './model-lists.ts'
import { plainName } from './model-name.ts'
import type { ModelServer } from './model-server.ts'
import { readBody } from './read-body.ts'
import type { Relay } from './relay.ts'
import { ROUTED_PATHS, type RoutedPath, readRequest } from './routed-request.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

export interface RouteParts {
  readonly listener: string
  readonly servers: Iterable<ModelServer>
  readonly guard: Guard
  readonly relay: Relay
  readonly version: string
  maxBodyBytes(): number
}

/** Returns the routes of the listener. Routes of the OpenAI API begin with `/v1`, those of the Ollama API with `/api`. */
export function routerRoutes(parts: RouteParts): HttpHandlers {
  const { listener, servers, guard, version } = parts
  const get = (
    path: string,
    summary: string,
    body: (exchange: HttpExchange) => unknown
  ): HttpHandlers['routes'][0] => ({
    method: 'GET',
    path,
    summary,
    handle: exchange => {
      guard.check(exchange.request)
      exchange.send(200, JSON_TYPE, JSON.stringify(body(exchange)))
    }
  })
  return {
    listener,
    auth: 'own',
    routes: [
      {
        method: 'GET',
        path: '/',
        summary: 'Report that the router runs',
        handle: exchange => {
          guard.checkHost(exchange.request)
          exchange.send(200, 'text/plain; charset=utf-8', 'svc inference router is running')
        }
      },
      get('/v1/models', 'Models of all servers in the OpenAI format', () => openAiList(servers)),
      get('/v1/models/*', 'A model in the OpenAI format', ({ params }) => known(servers, params['*'] ?? '')),
      get('/api/tags', 'Models of the servers with the Ollama API', () => tagList(withOllama(servers))),
      get('/api/ps', 'Loaded models of the servers with the Ollama API', () => runningList(withOllama(servers))),
      get('/api/version', 'Version of the router', () => ({ version })),
      ...ROUTED_PATHS.map(path => routed(path, parts))
    ],
    fallback: {
      handle: (exchange, allowed) => {
        guard.check(exchange.request)
        exchange.request.resume()
        exchange.fail(unknownRoute(exchange, allowed()))
      }
    }
  }
}

function routed(path: RoutedPath, { guard, relay, maxBodyBytes }: RouteParts): HttpHandlers['routes'][0] {
  return {
    method: 'POST',
    path: path.path,
    summary: path.summary,
    handle: exchange => {
      const { request } = exchange
      try {
        guard.check(request)
      } catch (error) {
        // A client that is still writing would see a reset instead of the response.
        request.resume()
        throw error
      }
      const fail = (error: unknown): void => exchange.fail(error)
      readBody(
        request,
        maxBodyBytes(),
        bytes => {
          try {
            void relay.run(exchange, readRequest(path, bytes))
          } catch (error) {
            fail(error)
          }
        },
        fail
      )
    }
  }
}

/**
 * Throws `IRT_API_UNSUPPORTED` if no server has routes of the Ollama API: clients that detect the API by `/api/tags` then
 * use the OpenAI API.
 */
function withOllama(servers: Iterable<ModelServer>): Iterable<ModelServer> {
  const all = [...servers]
  if (all.length === 0 || all.some(({ hasOllamaRoutes }) => hasOllamaRoutes)) return all
  throw routerErrors.create('IRT_API_UNSUPPORTED', 'no server has routes of the Ollama API; use the routes below /v1')
}

function known(servers: Iterable<ModelServer>, id: string): unknown {
  const model = openAiModel(servers, plainName(id))
  if (model !== undefined) return model
  throw routerErrors.create('IRT_MODEL_UNKNOWN', `model ${JSON.stringify(id)} not found`, { data: { param: 'model' } })
}

function unknownRoute({ request }: HttpExchange, allowed: readonly string[]): Error {
  const path = (request.url ?? '').split('?', 1)[0]
  const hint =
    allowed.length > 0
      ? `this path accepts ${allowed.join(', ')}`
      : 'models are managed on their servers, not through the router'
  return routerErrors.create('IRT_ROUTE_UNKNOWN', `the router has no route ${request.method} ${path}`, { hint })
}
