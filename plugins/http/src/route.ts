import type { OperationEntry, UnitView } from '@svc/contracts'
import type { Exchange } from './exchange.ts'
import type { InputPlan } from './operation-input.ts'
import type { OriginCheck } from './origin-check.ts'
import type { RawRoutes } from './raw-routes.ts'
import type { RouteSeries } from './request-metrics.ts'

/** One route of one generation. */
export interface Route {
  readonly method: string
  readonly path: string
  /** Owner of the route. */
  readonly owner: string
  /** Unit that counts the requests in flight; null for the http plugin's own routes. */
  readonly unit: UnitView | null
  /** True if the listener requires no token, since the route is public or checks its callers itself. */
  readonly open: boolean
  /** Check of the origins that only this route accepts, in addition to those of the listener. */
  readonly origins?: OriginCheck
  readonly series: RouteSeries
  /** Fastify instance that must outlive the request; null if the unit has none. */
  readonly raw: RawRoutes | null
  readonly operation: OperationRoute | null
  serve(exchange: Exchange): void
}

export interface OperationRoute {
  readonly entry: OperationEntry
  readonly plan: InputPlan
  readonly status: number
  /** Field of the output to send as the body; undefined: the whole output. */
  readonly answer: string | undefined
}
