import type { A2aPlane, A2aSend, DeliveryPlane, RouteToken } from '@svc/contracts'
import { databaseMissing, meshOff, planeUnknown } from './errors.ts'

/** Routes of the planes in contracts/communication/protocol-catalog.yaml. */
const ROUTES: ReadonlyMap<DeliveryPlane, RouteToken> = new Map([
  ['local_ephemeral', 'local'],
  ['local_durable', 'db'],
  ['remote_mesh', 'mesh']
])

/** Finds planes by route. */
export class Planes {
  readonly #planes: () => readonly A2aPlane[]

  constructor(planes: () => readonly A2aPlane[]) {
    this.#planes = planes
  }

  /** Returns the plane of a route. Throws `ORC_NO_DATABASE`, `MSG_MESH_OFF` and `MSG_PLANE_UNKNOWN`. */
  at(route: RouteToken): A2aPlane {
    const plane = this.#planes().find(each => each.route === route)
    if (plane !== undefined) return plane
    if (route === 'db') throw databaseMissing()
    throw route === 'mesh' ? meshOff() : planeUnknown(route)
  }

  get all(): readonly A2aPlane[] {
    return this.#planes()
  }

  /** Planes that other plugins contribute. */
  get contributed(): readonly A2aPlane[] {
    return this.#planes().filter(({ route }) => !this.isBuiltIn(route))
  }

  isBuiltIn(route: RouteToken): boolean {
    return route === 'local' || route === 'db'
  }

  /** Returns the route of a plane; null if it has none, such as broadcast. */
  routeOf(plane: DeliveryPlane): RouteToken | null {
    return ROUTES.get(plane) ?? this.#planes().find(each => each.plane === plane)?.route ?? null
  }
}

export type Priority = NonNullable<A2aSend['priority']>

const PRIORITIES: readonly Priority[] = ['low', 'normal', 'high', 'critical']

/** Returns the rank of a priority as stored in the database: 0 to 3. */
export function priorityRank(priority: Priority): number {
  return PRIORITIES.indexOf(priority)
}

export function priorityOfRank(rank: number): Priority {
  return PRIORITIES[Math.min(Math.max(rank, 0), PRIORITIES.length - 1)] ?? 'normal'
}

/** Message types that are delivered even while the user is in deep focus. */
export const URGENT_TYPES: ReadonlySet<string> = new Set(['error_report', 'conflict_detected'])
