import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import type { Contribution, HttpErrorForms, HttpRoutes, UnitView } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { type FastifyInstance, fastify, type RouteOptions } from 'fastify'
import { answerErrors, type LogError } from './answer-errors.ts'
import { httpErrors } from './errors.ts'
import { type Exchange, exchangeOf } from './exchange.ts'
import { acceptJsonBodies } from './json-body.ts'
import { MAX_URL_LENGTH } from './route-table.ts'

/**
 * Fastify instance of one unit's raw routes on one listener. It is closed when the unit is replaced *and* its last
 * request has ended: `close` of an instance that does not listen does not wait for running requests.
 */
export class RawRoutes {
  readonly unit: UnitView
  readonly #app: FastifyInstance
  readonly #report: LogError
  #inFlight = 0
  #retired = false

  private constructor(unit: UnitView, app: FastifyInstance, report: LogError) {
    this.unit = unit
    this.#app = app
    this.#report = report
  }

  /** Builds the instance. Throws `HTTP_ROUTES_INVALID` if registered and declared routes differ. */
  static async build(
    unit: UnitView,
    items: readonly Contribution<HttpRoutes>[],
    options: { readonly bodyLimit: number; readonly report: LogError; readonly errors: HttpErrorForms }
  ): Promise<RawRoutes> {
    const app = newInstance(options.bodyLimit)
    acceptJsonBodies(app)
    answerErrors(app, options.report, options.errors)
    app.decorateRequest('caller', { getter: callerOf })
    const routes = new RawRoutes(unit, app, options.report)
    try {
      // After the body was read: Node calls back in the context of the connection.
      app.addHook('preHandler', (request, _reply, done) => {
        const exchange = exchangeOf(request.raw)
        if (exchange.trace.sampled) exchange.within(done)
        else done()
      })
      for (const { item } of items) await registerItem(app, unit.name, item)
      await app.ready()
      return routes
    } catch (error) {
      await routes.close()
      if (isSvcError(error)) throw error
      throw httpErrors.create(
        'HTTP_ROUTES_INVALID',
        `${unit.name} failed to register its routes: ${(error as Error).message}`,
        {
          plugin: unit.name,
          cause: error
        }
      )
    }
  }

  serve(exchange: Exchange): void {
    this.#inFlight += 1
    exchange.attach()
    // Only the `close` event of the response shows when Fastify and its streams have finished.
    exchange.untilClosed()
    // Set here, since a route may write the response without Fastify.
    exchange.label()
    this.#app.routing(exchange.request, exchange.response)
  }

  /** Called once per {@link RawRoutes.serve}, after its exchange. */
  exit(): void {
    this.#inFlight -= 1
    if (this.#inFlight === 0 && this.#retired) void this.#finish()
  }

  /**
   * Closes the instance now, or after its last request. Until then the unit counts as busy, so that it is not disposed.
   */
  retire(): void {
    if (this.#retired) return
    this.#retired = true
    this.unit.enter()
    if (this.#inFlight === 0) void this.#finish()
  }

  /** Closes an unused instance. */
  async close(): Promise<void> {
    try {
      await this.#app.close()
    } catch (error) {
      this.#report('a plugin failed to close its routes', { plugin: this.unit.name, error })
    }
  }

  async #finish(): Promise<void> {
    await this.close()
    this.unit.exit()
  }
}

/** Creates an instance without a server; the listener passes requests to it. */
function newInstance(bodyLimit: number): FastifyInstance {
  return fastify({
    logger: false,
    bodyLimit,
    exposeHeadRoutes: true,
    return503OnClosing: false,
    genReqId: request => exchangeOf(request as never).requestId,
    routerOptions: { maxParamLength: MAX_URL_LENGTH },
    serverFactory: () => new EventEmitter() as Server
  }) as unknown as FastifyInstance
}

function callerOf(this: { readonly raw: Parameters<typeof exchangeOf>[0] }): unknown {
  return exchangeOf(this.raw)
}

async function registerItem(app: FastifyInstance, plugin: string, item: HttpRoutes): Promise<void> {
  const declared = new Set(item.routes.map(route => `${route.method} ${route.path}`))
  const found = new Set<string>()
  await app.register(async scope => {
    scope.addHook('onRoute', route => {
      for (const key of routesOf(route)) {
        if (key.startsWith('HEAD ')) continue
        if (!declared.has(key)) throw undeclared(plugin, key)
        found.add(key)
      }
    })
    await item.register(scope)
  })
  const missing = [...declared].filter(key => !found.has(key))
  if (missing.length === 0) return
  throw httpErrors.create(
    'HTTP_ROUTES_INVALID',
    `${plugin} declares ${missing.join(', ')} but registers no such route`,
    {
      plugin,
      hint: 'list in routes exactly the routes that register adds'
    }
  )
}

function routesOf(route: RouteOptions): string[] {
  return [route.method].flat().map(method => `${method} ${route.url}`)
}

function undeclared(plugin: string, key: string): Error {
  return httpErrors.create('HTTP_ROUTES_INVALID', `${plugin} registers ${key}, which it does not declare`, {
    plugin,
    hint: 'add it to routes, where conflicts between plugins are found'
  })
}
