import {
  type Contribution,
  type GenerationView,
  type HttpHandlers,
  type HttpListener,
  type HttpOrigins,
  type HttpRoutes,
  type HttpUpgrade,
  httpHandlers,
  httpListeners,
  httpRoutes,
  httpUpgrades,
  type OperationEntry,
  routeKey,
  type UnitView
} from '@svc/contracts'
import { httpErrors } from './errors.ts'
import type { Settings } from './settings.ts'

/** Listener with its defaults. */
export interface PlannedListener extends Required<Omit<HttpListener, 'origins'>> {
  /** Null: the routes check origins. */
  readonly origins: HttpOrigins | null
}

/** Routes and upgrades of one listener in the next generation. */
export interface ListenerPlan {
  readonly listener: PlannedListener
  /** Plugin that contributes the listener. */
  readonly owner: string
  readonly operations: OperationEntry[]
  /** Raw routes by unit, since those of a unit share a Fastify instance. */
  readonly raw: Map<UnitView, Contribution<HttpRoutes>[]>
  readonly handlers: Contribution<HttpHandlers>[]
  readonly upgrades: Map<string, Contribution<HttpUpgrade>>
  /** Owning plugin by route. */
  readonly owners: Map<string, string>
}

/**
 * Groups a generation's routes by listener. Throws `HTTP_ROUTE_CONFLICT`, which names both owners, or
 * `HTTP_LISTENER_UNKNOWN`.
 */
export function planListeners(generation: GenerationView, settings: Settings): ListenerPlan[] {
  const plans = new Map<string, ListenerPlan>()
  const origins: HttpOrigins = { allowed: settings.cors_origins, setting: 'plugins.http.cors_origins' }
  if (settings.main) {
    const { host, port } = settings
    const shared = { guard: 'shared', origins, errors: 'envelope', apiPage: true, closeDelayMs: 0 } as const
    open(plans, { name: 'main', host, port, setting: 'plugins.http.port', ...shared }, 'http')
  }
  for (const { item, unit } of generation.items(httpListeners)) {
    if (item.name === 'main' || plans.has(item.name)) {
      const message = `${unit.name} contributes the listener "${item.name}", but another plugin has a listener with that name`
      throw httpErrors.create('HTTP_ROUTE_CONFLICT', message, { plugin: unit.name, data: { listener: item.name } })
    }
    const checked = item.guard === 'own' ? null : origins
    const defaults = { guard: 'shared', origins: checked, errors: 'envelope', apiPage: false, closeDelayMs: 0 } as const
    open(plans, { ...defaults, ...item }, unit.name)
  }
  for (const contribution of generation.items(httpRoutes)) addRaw(plans, contribution, settings)
  for (const contribution of generation.items(httpHandlers)) addHandlers(plans, contribution, settings)
  for (const contribution of generation.items(httpUpgrades)) addUpgrade(plans, contribution, settings)
  const main = plans.get('main')
  if (main !== undefined) {
    for (const entry of generation.operations.values()) {
      const { http } = entry.descriptor.expose
      if (http === undefined) continue
      claim(main, routeKey(http.method, http.path), entry.unit.name)
      main.operations.push(entry)
    }
  }
  return [...plans.values()]
}

/**
 * Paths of this plugin on the main listener. On other listeners, plugins may override them; `/docs`, which is a page for
 * people, on every listener.
 */
const RESERVED = ['/health', '/ready', '/metrics', '/openapi.json', '/docs/page.mjs', '/docs/page.css']

function open(plans: Map<string, ListenerPlan>, listener: PlannedListener, owner: string): void {
  plans.set(listener.name, {
    listener,
    owner,
    operations: [],
    raw: new Map(),
    handlers: [],
    upgrades: new Map(),
    owners: new Map()
  })
}

function addRaw(plans: Map<string, ListenerPlan>, contribution: Contribution<HttpRoutes>, settings: Settings): void {
  const { item, unit } = contribution
  const plan = planOf(plans, item.listener, unit.name, settings)
  if (plan === null) return
  for (const { method, path } of item.routes) claim(plan, routeKey(method, path), unit.name)
  const items = plan.raw.get(unit)
  if (items === undefined) plan.raw.set(unit, [contribution])
  else items.push(contribution)
}

function addHandlers(
  plans: Map<string, ListenerPlan>,
  contribution: Contribution<HttpHandlers>,
  settings: Settings
): void {
  const { item, unit } = contribution
  const plan = planOf(plans, item.listener, unit.name, settings)
  if (plan === null) return
  for (const { method, path } of item.routes) claim(plan, routeKey(method, path), unit.name)
  if (item.fallback !== undefined) claim(plan, 'ANY (fallback)', unit.name)
  plan.handlers.push(contribution)
}

function addUpgrade(
  plans: Map<string, ListenerPlan>,
  contribution: Contribution<HttpUpgrade>,
  settings: Settings
): void {
  const { item, unit } = contribution
  const plan = planOf(plans, item.listener, unit.name, settings)
  if (plan === null) return
  claim(plan, `UPGRADE ${item.path}`, unit.name)
  plan.upgrades.set(item.path, contribution)
}

/** Returns the plan of a listener; null for the main listener if it is disabled. */
function planOf(
  plans: Map<string, ListenerPlan>,
  named: string | undefined,
  plugin: string,
  settings: Settings
): ListenerPlan | null {
  const listener = named ?? 'main'
  const plan = plans.get(listener)
  if (plan !== undefined) return plan
  if (listener === 'main' && !settings.main) return null
  throw httpErrors.create(
    'HTTP_LISTENER_UNKNOWN',
    `${plugin} has routes for the listener "${listener}", which no plugin opens`,
    {
      plugin,
      hint: `listeners: ${[...plans.keys()].join(', ')}`
    }
  )
}

function claim(plan: ListenerPlan, key: string, owner: string): void {
  const [method, path] = key.split(' ') as [string, string]
  const reserved = plan.listener.name === 'main' && method === 'GET' && RESERVED.includes(path)
  const other = reserved ? 'http' : plan.owners.get(key)
  if (other === undefined) {
    plan.owners.set(key, owner)
    return
  }
  throw httpErrors.create(
    'HTTP_ROUTE_CONFLICT',
    `${other} and ${owner} both serve ${key} on the listener ${plan.listener.name}`,
    {
      plugin: owner,
      data: { route: key, listener: plan.listener.name, owners: [other, owner] },
      hint: other === owner ? 'remove one of the two' : `change one of the paths, or run: svc plugins disable ${owner}`
    }
  )
}
