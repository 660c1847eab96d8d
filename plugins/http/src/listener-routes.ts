import type { HttpErrorForms, HttpExchange, UnitView } from '@svc/contracts'
import { defined, type HttpExposure } from '@svc/plugin-sdk'
import type { LogError } from './answer-errors.ts'
import { type BuiltIn, writeResponse } from './builtin/built-in.ts'
import type { Exchange } from './exchange.ts'
import { handlerServer } from './handler-routes.ts'
import type { ListenerPlan } from './listener-plan.ts'
import { planInput } from './operation-input.ts'
import { OriginCheck } from './origin-check.ts'
import type { RawRoutes } from './raw-routes.ts'
import { type RequestCounts, seriesOf } from './request-metrics.ts'
import type { Route } from './route.ts'
import type { RouteTable } from './route-table.ts'
import { writeError } from './write-error.ts'

export interface RouteParts {
  /** Name of this plugin. */
  readonly self: string
  readonly builtIns: readonly BuiltIn[]
  readonly counts: RequestCounts
  readonly report: LogError
  readonly bodyLimit: number
  /** Serves every operation. */
  readonly operations: Route['serve']
  rawOf(unit: UnitView): RawRoutes
}

/** Returns all routes of a listener: operations, raw routes, handlers, and this plugin's own unless overridden. */
export function listenerRoutes(plan: ListenerPlan, parts: RouteParts): Route[] {
  return [
    ...operationRoutes(plan, parts),
    ...rawRoutes(plan, parts),
    ...handlerRoutes(plan, parts),
    ...builtInRoutes(plan, parts)
  ]
}

function* operationRoutes(plan: ListenerPlan, { counts, operations }: RouteParts): Iterable<Route> {
  for (const entry of plan.operations) {
    const { descriptor, unit } = entry
    const { method, path, status = 200, answer } = descriptor.expose.http as HttpExposure
    yield {
      method,
      path,
      owner: unit.name,
      unit,
      open: false,
      series: seriesOf(counts, unit.name, method, path),
      raw: null,
      operation: { entry, status, answer, plan: planInput(descriptor) },
      serve: operations
    }
  }
}

function* rawRoutes(plan: ListenerPlan, { counts, rawOf }: RouteParts): Iterable<Route> {
  for (const [unit, items] of plan.raw) {
    const raw = rawOf(unit)
    for (const { method, path } of items.flatMap(({ item }) => item.routes)) {
      yield {
        method,
        path,
        owner: unit.name,
        unit,
        open: false,
        series: seriesOf(counts, unit.name, method, path),
        raw,
        operation: null,
        serve: exchange => raw.serve(exchange)
      }
    }
  }
}

function* handlerRoutes(plan: ListenerPlan, { counts, bodyLimit, report }: RouteParts): Iterable<Route> {
  for (const { item, unit } of plan.handlers) {
    for (const route of item.routes) {
      const { method, path } = route
      yield {
        method,
        path,
        owner: unit.name,
        unit,
        open: item.auth === 'own',
        ...defined({ origins: route.origins && new OriginCheck({ allowed: route.origins, setting: '@cors' }) }),
        series: seriesOf(counts, unit.name, method, path),
        raw: null,
        operation: null,
        serve: handlerServer(route, { bodyLimit, report, errors: plan.listener.errors })
      }
    }
  }
}

/** Returns the fallback route of the listener; null if no plugin has one. */
export function fallbackOf(plan: ListenerPlan, parts: RouteParts, table: Pick<RouteTable, 'allowed'>): Route | null {
  const { counts, bodyLimit, report } = parts
  for (const { item, unit } of plan.handlers) {
    const { fallback } = item
    if (fallback === undefined) continue
    const handle = (exchange: HttpExchange): void => {
      fallback.handle(exchange, () => table.allowed(exchange.request.url as string))
    }
    return {
      method: 'ANY',
      path: '(fallback)',
      owner: unit.name,
      unit,
      open: item.auth === 'own',
      series: seriesOf(counts, unit.name, 'ANY', '(fallback)'),
      raw: null,
      operation: null,
      serve: handlerServer({ handle }, { bodyLimit, report, errors: plan.listener.errors })
    }
  }
  return null
}

function* builtInRoutes(plan: ListenerPlan, { self, builtIns, counts, report }: RouteParts): Iterable<Route> {
  for (const builtIn of builtIns) {
    if (plan.owners.has(`GET ${builtIn.path}`)) continue
    const isForListener = builtIn.isApiPage === true && plan.listener.apiPage
    if (builtIn.mainOnly && plan.listener.name !== 'main' && !isForListener) continue
    yield {
      method: 'GET',
      path: builtIn.path,
      owner: self,
      unit: null,
      open: builtIn.open,
      series: seriesOf(counts, self, 'GET', builtIn.path),
      raw: null,
      operation: null,
      serve: exchange => void serveBuiltIn(builtIn, exchange, report, plan.listener.errors)
    }
  }
}

async function serveBuiltIn(
  builtIn: BuiltIn,
  exchange: Exchange,
  report: LogError,
  form: HttpErrorForms
): Promise<void> {
  const { response, requestId } = exchange
  try {
    const answer = await builtIn.answer(exchange)
    exchange.label()
    writeResponse(response, answer)
  } catch (error) {
    report('a request failed', { error, request_id: requestId, path: exchange.path })
    exchange.errorCode = writeError(response, error, requestId, form)
  }
  exchange.answered()
}
