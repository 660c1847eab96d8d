import type { A2aMessage } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'
import type { Planes } from './planes.ts'

export const planeSchema = t.string({
  description: 'local_ephemeral, local_durable, remote_mesh, broadcast, stream, or a contributed plane.'
})
export const routeSchema = t.nullable(t.string(), {
  description: 'Route of the plane; null if it has none.'
})

/** Schema of a message, with its plane and the route of the plane. */
export const messageSchema = t.object({
  id: t.integer({ description: 'Id within its plane.' }),
  uuid: t.optional(t.string({ description: 'Only for durable messages.' })),
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

export function toWire({ plane, ...message }: A2aMessage, planes: Planes): Infer<typeof messageSchema> {
  return { ...message, delivery_plane: plane, route: planes.routeOf(plane) }
}
