import type { A2aPlane, A2aSend, DeliveryPlane, RouteToken } from '@svc/contracts'
import { databaseMissing, meshOff, planeUnknown } from './errors.ts'

/** Routes of the planes in contracts/communication/protocol-catalog.yaml. */
const ROUTES: ReadonlyMap<DeliveryPlane, RouteToken> = new Map([
  ['local_ephemeral', 'local'],
  ['local_durable', 'db'],
  ['remote_mesh', 'mesh']
])

/** The planes by their routes. */
export class Planes {
  readonly #planes: () => readonly A2aPlane[]

  constructor(planes: () => readonly A2aPlane[]) {
    this.#planes = planes
  }

  /** Throws `ORC_NO_DATABASE`, `MSG_MESH_OFF` and `MSG_PLANE_UNKNOWN`. */
  at(route: RouteToken): A2aPlane {
    const plane = this.#planes().find(each => each.route === route)
    if (plane !== undefined) return plane
    if (route === 'db') throw databaseMissing()
    throw route === 'mesh' ? meshOff() : planeUnknown(route)
  }

  get all(): readonly A2aPlane[] {
    return this.#planes()
  }

  /** The planes that other plugins contribute. */
  get contributed(): readonly A2aPlane[] {
    return this.#planes().filter(({ route }) => route !== 'local' && route !== 'db')
  }

  /** Null for a plane without a route, such as broadcast. */
  routeOf(plane: DeliveryPlane): RouteToken | null {
    return ROUTES.get(plane) ?? this.#planes().find(each => each.plane === plane)?.route ?? null
  }
}

export type Priority = NonNullable<A2aSend['priority']>

const PRIORITIES: readonly Priority[] = ['low', 'normal', 'high', 'critical']

/** 0 to 3, as rows hold it; clarifications have 5. */
export function priorityRank(priority: Priority): number {
  return PRIORITIES.indexOf(priority)
}

export function priorityOfRank(rank: number): Priority {
  return PRIORITIES[Math.min(Math.max(rank, 0), PRIORITIES.length - 1)] ?? 'normal'
}

/** Message types that an agent still receives while its person is in deep focus. */
export const URGENT_TYPES: ReadonlySet<string> = new Set(['error_report', 'conflict_detected'])
