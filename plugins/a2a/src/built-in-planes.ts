import type { A2aPlane, PlaneMessage } from '@svc/contracts'
import { CLARIFICATION_RANK, isClarification, parseClarification } from './clarification.ts'
import type { DurableInbox } from './durable-inbox.ts'
import { a2aErrors } from './errors.ts'
import type { LocalBus } from './local-bus.ts'
import { type Priority, priorityRank } from './planes.ts'

export const DEFAULT_TTL_MS = 300_000

/** Returns the plane for messages inside this process. */
export function localPlane(local: LocalBus): A2aPlane {
  return {
    route: 'local',
    plane: 'local_ephemeral',
    async send({ sender, receiver, msg_type, payload, priority = 'normal', ttl_ms, ...more }: PlaneMessage) {
      if (isClarification(msg_type))
        throw a2aErrors.create('MSG_PLANE_UNSUITED', `route local: a ${msg_type} must survive the end of the process`, {
          data: { msg_type, route: 'local' },
          hint: 'send it with route db'
        })
      const { message, dropped, repeated } = local.send([receiver], {
        sender,
        receiver,
        msg_type,
        payload,
        priority,
        ttlMs: ttl_ms ?? DEFAULT_TTL_MS,
        correlation_id: more.correlation_id,
        thread_id: more.thread_id,
        key: more.idempotency_key
      })
      return { id: message.id, uuid: null, dropped, repeated, timestamp_ms: message.timestamp_ms }
    },
    async inbox(agent, { limit, before }) {
      const { messages } = local.inbox(agent)
      return messages.filter(({ id }) => before === undefined || id < before).slice(0, limit)
    },
    // Local messages have no fence, so none is current.
    ack: async (agent, message, fence) =>
      typeof message === 'number' && fence === undefined && local.ack(agent, message),
    health: () => ({ ok: true })
  }
}

/** Returns the plane for messages in the database. */
export function durablePlane(durable: DurableInbox): A2aPlane {
  return {
    route: 'db',
    plane: 'local_durable',
    async send({ sender, receiver, msg_type, payload, priority, ...more }: PlaneMessage) {
      const clarification = isClarification(msg_type) ? parseClarification(msg_type, payload) : undefined
      const sent = await durable.send({
        sender,
        receiver,
        msg_type,
        payload,
        rank: clarification === undefined ? priorityRank(priority ?? 'normal') : CLARIFICATION_RANK,
        thread_id: more.thread_id,
        correlation_id: more.correlation_id,
        tenant_id: more.tenant_id,
        key: more.idempotency_key,
        delayMs: more.delay_ms,
        maxAttempts: more.max_attempts,
        clarification
      })
      return { ...sent, dropped: 0 }
    },
    inbox: (agent, options) => durable.claim(agent, options),
    ack: (agent, message, fence) => durable.ack(agent, message, fence),
    leases: durable,
    health: () => ({ ok: true })
  }
}

/** Returns the priority of a message; clarifications are always critical. */
export function effectivePriority({ msg_type, priority = 'normal' }: PlaneMessage): Priority {
  return isClarification(msg_type) ? 'critical' : priority
}
