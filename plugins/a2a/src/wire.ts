import type { A2aMessage } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'
import { ROUTE_OF_PLANE } from './planes.ts'

const PLANES = ['local_ephemeral', 'local_durable', 'remote_mesh', 'broadcast', 'stream'] as const

export const planeSchema = t.enum(PLANES, { description: 'Plane of the catalog.' })
export const routeSchema = t.nullable(t.enum(['local', 'db', 'mesh']), {
  description: 'Legacy token of the plane; null where it has none.'
})

/** A message as tools tell it: with its plane, and the legacy token beside. */
export const messageSchema = t.object({
  id: t.integer({ description: 'Number within its plane.' }),
  uuid: t.optional(t.string({ description: 'Of a durable message.' })),
  sender: t.integer(),
  receiver: t.nullable(t.integer()),
  msg_type: t.string(),
  payload: t.string(),
  timestamp_ms: t.integer(),
  acknowledged: t.boolean(),
  priority: t.enum(['low', 'normal', 'high', 'critical']),
  delivery_plane: planeSchema,
  route: routeSchema,
  correlation_id: t.optional(t.string()),
  thread_id: t.optional(t.string())
})

export function toWire({ plane, ...message }: A2aMessage): Infer<typeof messageSchema> {
  return { ...message, delivery_plane: plane, route: ROUTE_OF_PLANE[plane] }
}
