import { setTimeout as delay } from 'node:timers/promises'
import {
  type FinishedRequest,
  type GenerationView,
  type HttpAddress,
  type HttpServer,
  type KernelAdmin,
  type ObservabilitySpans,
  type PreparedSurface,
  type Surface,
  TokenBuckets
} from '@svc/contracts'
import type { Health, Logger } from '@svc/plugin-sdk'
import type { Registry } from 'prom-client'
import type { AccessLog } from './access-log.ts'
import type { BuiltIn } from './builtin/built-in.ts'
import { healthRoute } from './builtin/health.ts'
import { metricsRoute } from './builtin/metrics.ts'
import { openApiRoute } from './builtin/openapi.ts'
import { readyRoute } from './builtin/ready.ts'
import type { Exchange } from './exchange.ts'
import { Front } from './front.ts'
import { Guard } from './guard.ts'
import { bind, drain, type HeldServer, setTimes } from './listener.ts'
import { type ListenerPlan, planListeners } from './listener-plan.ts'
import { fallbackOf, listenerRoutes, type RouteParts } from './listener-routes.ts'
import { RawRoutes } from './raw-routes.ts'
import { type RequestCounts, seriesOf } from './request-metrics.ts'
import type { Route } from './route.ts'
import { RouteTable } from './route-table.ts'
import type { Settings } from './settings.ts'

export interface SurfaceParts {
  /** Name of this plugin. */
  readonly name: string
  readonly version: string
  readonly settings: Settings
  readonly log: Logger
  readonly access: AccessLog
  /** Records spans; undefined if no plugin does. */
  spans(): ObservabilitySpans | undefined
  readonly operations: Route['serve']
  readonly docs: readonly BuiltIn[]
  /** Loads the metrics library at the first call. */
  registry(): Promise<Registry>
  readonly admin: Pick<KernelAdmin, 'plugins'> | undefined
  readonly counts: RequestCounts
  /** Returns a function that notifies the taps of a finished request; null if the hook has no taps. */
  finished(): ((request: FinishedRequest) => void) | null
  /** Returns the server of an address, which outlives this unit; a new one is not bound yet. */
  hold(key: string): Promise<HeldServer>
}

interface OpenListener {
  readonly plan: ListenerPlan
  readonly table: RouteTable
  readonly held: HeldServer
}

/** Limit for one client address. */
const MAX_WRONG_TOKENS_PER_MINUTE = 60

/** HTTP surface: prepares the next generation while the current one serves, then swaps one pointer per listener. */
export class HttpSurface implements Surface, HttpServer {
  readonly #parts: SurfaceParts
  #listeners = new Map<string, OpenListener>()
  #raw = new Map<string, RawRoutes>()
  readonly #wrongTokens = new TokenBuckets(MAX_WRONG_TOKENS_PER_MINUTE)

  constructor(parts: SurfaceParts) {
    this.#parts = parts
  }

  get addresses(): readonly HttpAddress[] {
    return [...this.#listeners.values()].flatMap(({ plan, held }) => {
      const address = held.server.address()
      if (address === null || typeof address === 'string') return []
      const { name, host } = plan.listener
      const shown = host.includes(':') ? `[${host}]` : host
      return [{ listener: name, host, port: address.port, url: `http://${shown}:${address.port}` }]
    })
  }

  async prepare(next: GenerationView): Promise<PreparedSurface> {
    const plans = planListeners(next, this.#parts.settings)
    const raw = new Map<string, RawRoutes>()
    const listeners = new Map<string, OpenListener>()
    const bound: HeldServer[] = []
    const undo = (): void => {
      for (const [key, routes] of raw) if (this.#raw.get(key) !== routes) void routes.close()
      for (const held of bound) void drain(held, this.#parts.settings.drain_ms)
    }
    try {
      const fronts: [HeldServer, Front][] = []
      for (const plan of plans) {
        await this.#buildRaw(plan, raw)
        const held = await this.#open(plan, bound)
        const parts = this.#routeParts(plan, next, raw)
        const table = new RouteTable(listenerRoutes(plan, parts), this.#listeners.get(plan.listener.name)?.table)
        listeners.set(plan.listener.name, { plan, table, held })
        fronts.push([held, this.#front(plan, parts, table)])
      }
      return { commit: () => this.#commit(listeners, raw, fronts, bound), abort: undo }
    } catch (error) {
      undo()
      throw error
    }
  }

  /** Stops accepting connections and waits for requests in flight, as the first step of a shutdown. */
  async quiesce(): Promise<void> {
    const { drain_ms } = this.#parts.settings
    const close = async ({ held, plan }: OpenListener): Promise<void> => {
      const { closeDelayMs } = plan.listener
      if (closeDelayMs > 0) await delay(closeDelayMs)
      await drain(held, drain_ms)
    }
    await Promise.all([...this.#listeners.values()].map(close))
  }

  health(): Health {
    const down = [...this.#listeners].filter(([, { held }]) => !held.server.listening).map(([name]) => name)
    return down.length === 0 ? { status: 'ok' } : { status: 'failed', detail: `not listening: ${down.join(', ')}` }
  }

  /** Retires every unit's Fastify instance; each is closed after its last request. */
  retire(): void {
    for (const routes of this.#raw.values()) routes.retire()
    this.#raw = new Map()
  }

  /** Builds the Fastify instances of new units. Those of unchanged units are reused. */
  async #buildRaw(plan: ListenerPlan, into: Map<string, RawRoutes>): Promise<void> {
    const { settings, log } = this.#parts
    const { errors } = plan.listener
    for (const [unit, items] of plan.raw) {
      const key = rawKey(plan, unit.instance)
      const known = this.#raw.get(key)
      const report = log.error.bind(log)
      into.set(
        key,
        known ?? (await RawRoutes.build(unit, items, { bodyLimit: settings.body_limit_bytes, report, errors }))
      )
    }
  }

  async #open(plan: ListenerPlan, bound: HeldServer[]): Promise<HeldServer> {
    const { listener } = plan
    const held = await this.#parts.hold(`listener ${listener.name} ${listener.host} ${listener.port}`)
    if (!held.server.listening) {
      setTimes(held, this.#parts.settings)
      await bind(held, plan)
      bound.push(held)
    }
    return held
  }

  #routeParts(plan: ListenerPlan, next: GenerationView, raw: ReadonlyMap<string, RawRoutes>): RouteParts {
    const { name, version, settings, log, operations, docs, registry, counts, admin } = this.#parts
    const report = log.error.bind(log)
    const builtIns = [
      healthRoute(version, next),
      readyRoute(next, { report, admin, requiresPlugins: settings.ready_requires_plugins }),
      metricsRoute(next, { registry, report, admin }),
      openApiRoute(next, { version, secured: settings.token !== undefined }),
      ...docs
    ]
    return {
      self: name,
      builtIns,
      counts,
      report,
      bodyLimit: settings.body_limit_bytes,
      operations,
      rawOf: unit => raw.get(rawKey(plan, unit.instance)) as RawRoutes
    }
  }

  #front(plan: ListenerPlan, parts: RouteParts, table: RouteTable): Front {
    const { name, settings, counts, access, spans, finished } = this.#parts
    const listener = plan.listener.name
    return new Front({
      table,
      fallback: fallbackOf(plan, parts, table),
      errors: plan.listener.errors,
      upgrades: plan.upgrades,
      guard: new Guard({ ...settings, host: plan.listener.host, origins: plan.listener.origins }, this.#wrongTokens),
      ownGuard: plan.listener.guard === 'own',
      counts,
      unmatched: seriesOf(counts, name, '-', '(unmatched)'),
      report: parts.report,
      spans,
      record: (exchange, status, ms) => {
        access.record(listener, exchange, status, ms)
        finished()?.(finishedRequest(exchange, status, ms))
      }
    })
  }

  #commit(
    listeners: Map<string, OpenListener>,
    raw: Map<string, RawRoutes>,
    fronts: readonly [HeldServer, Front][],
    bound: readonly HeldServer[]
  ): void {
    const { settings, log } = this.#parts
    for (const [held, front] of fronts) {
      held.slot.front = front
      held.slot.errors = front.errors
      held.slot.onError = error => log.error('a listener failed', { error })
      setTimes(held, settings)
    }
    const serving = new Set(fronts.map(([held]) => held))
    for (const { held } of this.#listeners.values()) {
      if (!serving.has(held)) void drain(held, settings.drain_ms)
    }
    for (const [key, routes] of this.#raw) if (raw.get(key) !== routes) routes.retire()
    this.#listeners = listeners
    this.#raw = raw
    for (const { listener, url } of this.addresses) {
      if (bound.includes(listeners.get(listener)?.held as HeldServer)) log.info(`${listener} listens on ${url}`)
    }
  }
}

function rawKey(plan: ListenerPlan, instance: string): string {
  return `${plan.listener.name} ${instance}`
}

function finishedRequest(
  { request, requestId, principal, route }: Exchange,
  status: number,
  durationMs: number
): FinishedRequest {
  const { method = '', url = '' } = request
  const [path = ''] = url.split('?', 1)
  const { series } = route ?? {}
  return {
    requestId,
    method,
    path,
    route: series?.route ?? null,
    plugin: series?.plugin ?? null,
    status,
    durationMs,
    principal
  }
}
