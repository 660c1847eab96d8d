import { randomUUID } from 'node:crypto'
import { type A2aMessage, type A2aPlane, MAX_INBOX_LIMIT, type MeshMessage, type PlaneMessage } from '@svc/contracts'
import { defined, errorMessage } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'

const ROUTE = 'mesh'
const PLANE = 'remote_mesh'
/** Messages of remote execution, which no agent reads. */
const INTERNAL = /^remote_task_/
/** Sent keys that are remembered, to recognise a repeated message. */
const MAX_SENT = 1_000
/** Pages that one read of an inbox may take, since internal messages are skipped. */
const MAX_PAGES = 8

type Priority = NonNullable<PlaneMessage['priority']>

const RANKS: Readonly<Record<Priority, number>> = { low: 64, normal: 128, high: 192, critical: 255 }

/** Returns the plane for messages to agents of other machines. Messages stay in the mailbox until they are acknowledged. */
export function meshPlane(client: MeshClient): A2aPlane {
  const sent = new Map<string, number>()
  let failure: string | null = null
  const watched = async <A>(call: Promise<A>): Promise<A> => {
    try {
      const answer = await call
      failure = null
      return answer
    } catch (error) {
      failure = errorMessage(error)
      throw error
    }
  }
  return {
    route: ROUTE,
    plane: PLANE,
    async send(message) {
      const { sender, receiver, msg_type, payload, priority = 'normal', correlation_id, thread_id } = message
      const key = message.idempotency_key ?? randomUUID()
      const route = `${sender}\u001f${receiver}\u001f${key}`
      const id = await watched(
        client.deliver({
          sender_agent_id: String(sender),
          receiver_agent_id: String(receiver),
          message_type: msg_type,
          payload,
          idempotency_key: key,
          priority: RANKS[priority],
          ...defined({ correlation_id, thread_id })
        })
      )
      const repeated = sent.get(route) === id
      if (sent.size >= MAX_SENT) sent.delete(sent.keys().next().value as string)
      sent.set(route, id)
      return { id, uuid: null, dropped: 0, repeated, timestamp_ms: Date.now() }
    },
    async inbox(agent, { limit, before }) {
      const found: A2aMessage[] = []
      let cursor = before
      for (let page = 0; page < MAX_PAGES && found.length < limit; page += 1) {
        const { messages } = await watched(
          client.inbox({
            receiver_agent_id: String(agent),
            max_messages: MAX_INBOX_LIMIT,
            ...(cursor === undefined ? null : { before_message_id: cursor })
          })
        )
        found.push(...messages.filter(each => !INTERNAL.test(each.message_type)).map(each => toMessage(agent, each)))
        cursor = messages.at(-1)?.id
        if (messages.length < MAX_INBOX_LIMIT || cursor === undefined) break
      }
      return found.slice(0, limit).sort((a, b) => rankOf(b) - rankOf(a))
    },
    async ack(agent, message) {
      return typeof message === 'number' && Number.isSafeInteger(message) && message > 0
        ? watched(client.ack(String(agent), message))
        : false
    },
    health: () => (failure === null ? { ok: true } : { ok: false, detail: failure })
  }
}

function rankOf({ priority }: A2aMessage): number {
  return RANKS[priority]
}

function toMessage(agent: number, message: MeshMessage): A2aMessage {
  const { correlation_id, thread_id } = message
  return {
    id: message.id,
    sender: Number(message.sender_agent_id),
    receiver: agent,
    msg_type: message.message_type,
    payload: message.payload,
    plane: PLANE,
    ...defined({ correlation_id, thread_id }),
    priority: priorityOf(message.priority ?? RANKS.normal),
    timestamp_ms: message.created_unix_ms,
    acknowledged: false
  }
}

function priorityOf(rank: number): Priority {
  if (rank >= RANKS.critical) return 'critical'
  if (rank >= RANKS.high) return 'high'
  return rank >= RANKS.normal ? 'normal' : 'low'
}
