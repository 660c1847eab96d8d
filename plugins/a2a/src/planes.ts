import type { A2aSend, DeliveryPlane, RouteToken } from '@svc/contracts'

/** The plane that a legacy token of the wire stands for; the catalog says what each guarantees. */
export const PLANE_OF_ROUTE: Readonly<Record<RouteToken, DeliveryPlane>> = {
  local: 'local_ephemeral',
  db: 'local_durable',
  mesh: 'remote_mesh'
}

/** The token beside a plane; planes without one have null. */
export const ROUTE_OF_PLANE: Readonly<Record<DeliveryPlane, RouteToken | null>> = {
  local_ephemeral: 'local',
  local_durable: 'db',
  remote_mesh: 'mesh',
  broadcast: null,
  stream: null
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

/** What an agent still gets to see while its person is in deep focus. */
export const URGENT_TYPES: ReadonlySet<string> = new Set(['error_report', 'conflict_detected'])
