import type { A2aMessage } from '@svc/contracts'
import { t } from '@svc/plugin-sdk'
import type { Planes } from './planes.ts'

export const planeSchema = t.string({
  description: 'local_ephemeral, local_durable, remote_mesh, broadcast, stream, or a contributed plane.'
})
export const routeSchema = t.nullable(t.string(), {
  description: 'Route of the plane; null if it has none.'
})

/** Fields of a message, with its plane and the route of the plane. */
const messageFields = {
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
  thread_id: t.optional(t.string()),
  fence: t.optional(
    t.integer({ description: 'Number of the delivery; pass it to acknowledge, extend or return the message.' })
  ),
  leased_until_ms: t.optional(t.integer({ description: 'End of the lease in Unix milliseconds.' }))
}

export const messageSchema = t.object(messageFields)

export const deadLetterSchema = t.object({
  ...messageFields,
  attempts: t.integer({ description: 'Deliveries without acknowledgement.' }),
  died_at_ms: t.integer(),
  error: t.nullable(t.string())
})

export function toWire<A extends A2aMessage>({ plane, ...message }: A, planes: Planes) {
  return { ...message, delivery_plane: plane, route: planes.routeOf(plane) }
}
