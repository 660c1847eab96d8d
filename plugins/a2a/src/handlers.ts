import {
  type A2aBus,
  type A2aMessage,
  type AgentView,
  agentLabel,
  type Orchestrator,
  orchestrationErrors
} from '@svc/contracts'
import { type Handler, LinkedSignal } from '@svc/plugin-sdk'
import { agentName } from './agent-name.ts'
import type { PlaneBus } from './bus.ts'
import { isClarification } from './clarification.ts'
import type { DurableInbox } from './durable-inbox.ts'
import { weighInterruption } from './escalation.ts'
import { streamMessages } from './message-stream.ts'
import type {
  a2aAck,
  a2aBroadcast,
  a2aDead,
  a2aExtend,
  a2aHistory,
  a2aInbox,
  a2aMessages,
  a2aNack,
  a2aRevive,
  a2aSend,
  a2aWatch
} from './operations.ts'
import type { Planes } from './planes.ts'
import { checkBinding } from './session-binding.ts'
import { toWire } from './wire.ts'

function requireAgent(orchestrator: Pick<Orchestrator, 'agent'>, agent: number): AgentView {
  const view = orchestrator.agent(agent)
  if (view !== null) return view
  throw orchestrationErrors.create('ORC_AGENT_NOT_FOUND', `Agent ${agentLabel(agent)} not found`, {
    data: { agent_id: agent },
    hint: 'list the agents to see their ids'
  })
}

export function sendHandler(bus: A2aBus, orchestrator: Orchestrator, planes: Planes): Handler<typeof a2aSend> {
  return async input => {
    const { sender_id: sender, receiver_id: receiver, sender_session_id, route, correlation_id, ...message } = input
    const binding = checkBinding(requireAgent(orchestrator, sender), sender_session_id, 'sender_session_id')
    const receiverExists = orchestrator.agent(receiver) !== null
    if (!receiverExists && route === 'local') requireAgent(orchestrator, receiver)
    const tenant = input.tenant_id ?? orchestrator.policy.account_id
    const head = {
      sender,
      receiver,
      route,
      delivery_plane: planes.at(route).plane,
      correlation_id: correlation_id ?? null,
      tenant_id: tenant,
      relay_attempted: false,
      relay_ok: false,
      ...binding,
      ...(receiverExists
        ? {}
        : {
            receiver_advisory: `${agentLabel(receiver)} is not an agent of this process; the message is stored until the agent reads it`
          })
    }
    const { notSent, costMs } = weighInterruption(orchestrator, sender, input.msg_type, 'svc_a2a_send')
    if (notSent !== null) return { ...head, ...notSent, route_ok: false, dropped_messages: 0 }
    const { message_id, db_message_uuid, idempotency_key, dropped } = await bus.send({
      ...message,
      sender,
      receiver,
      route,
      ...(correlation_id === undefined ? {} : { correlation_id }),
      ...(tenant === null ? {} : { tenant_id: tenant })
    })
    if (costMs !== null) orchestrator.attention.debit(costMs, 'Interrupted')
    const isRelayed = !planes.isBuiltIn(route)
    return {
      message_id,
      ...(db_message_uuid === null ? {} : { db_message_uuid }),
      ...head,
      relay_attempted: isRelayed,
      relay_ok: isRelayed,
      route_ok: true,
      idempotency_key,
      dropped_messages: dropped
    }
  }
}

export function inboxHandler(bus: PlaneBus, orchestrator: Orchestrator, planes: Planes): Handler<typeof a2aInbox> {
  return async ({ agent_id, source, max_messages, before_message_id, agent_session_id }) => {
    const binding = checkBinding(requireAgent(orchestrator, agent_id), agent_session_id, 'agent_session_id')
    const { messages, unread, dropped, suppressed, failed } = await bus.inbox(agent_id, {
      source,
      limit: max_messages,
      ...(before_message_id === undefined ? {} : { before: before_message_id })
    })
    const read = planesRead(source, planes)
    const remote = source === 'merged' ? planes.contributed : planes.contributed.filter(({ route }) => route === source)
    return {
      agent_id,
      source,
      delivery_planes: [...read],
      routes: read.flatMap(plane => planes.routeOf(plane) ?? []),
      unread_count: unread,
      remote_attempted: remote.length > 0,
      remote_ok: remote.length > 0 && failed.length === 0,
      dropped_messages: dropped,
      suppressed_count: suppressed,
      focus_depth_filter_active: bus.inDeepFocus(),
      ...binding,
      messages: messages.map(message => toWire(message, planes))
    }
  }
}

/** Returns the names of the planes that `source` reads. */
function planesRead(source: string, planes: Planes): readonly string[] {
  const read = source === 'merged' ? planes.all : [planes.at(source)]
  return read.flatMap(({ route, plane }) => (route === 'local' ? [plane, 'broadcast'] : [plane]))
}

export function ackHandler(bus: A2aBus, orchestrator: Orchestrator): Handler<typeof a2aAck> {
  return async ({ agent_id, message_id, route, fence, agent_session_id }) => {
    checkSession(orchestrator, agent_id, agent_session_id)
    return { agent_id, message_id, acknowledged: await bus.ack(agent_id, message_id, route, fence) }
  }
}

function checkSession(orchestrator: Orchestrator, agent: number, session: string | undefined): void {
  const view = orchestrator.agent(agent)
  if (view !== null && session !== undefined) checkBinding(view, session, 'agent_session_id')
}

export function extendHandler(bus: A2aBus, orchestrator: Orchestrator): Handler<typeof a2aExtend> {
  return async ({ agent_id, message_id, fence, lease_ms, route, agent_session_id }) => {
    checkSession(orchestrator, agent_id, agent_session_id)
    return { extended: await bus.extend(agent_id, { message: message_id, fence, route }, lease_ms) }
  }
}

export function nackHandler(bus: A2aBus, orchestrator: Orchestrator): Handler<typeof a2aNack> {
  return async ({ agent_id, message_id, fence, delay_ms, error, reject, route, agent_session_id }) => {
    checkSession(orchestrator, agent_id, agent_session_id)
    const options = { delay_ms, reject, ...(error === undefined ? {} : { error }) }
    return { returned: await bus.nack(agent_id, { message: message_id, fence, route }, options) }
  }
}

export function deadHandler(bus: A2aBus, planes: Planes): Handler<typeof a2aDead> {
  return async ({ agent_id, limit, before_message_id: before, route }) => {
    const dead = await bus.dead(agent_id ?? null, { route, limit, ...(before === undefined ? {} : { before }) })
    return { messages: dead.map(message => toWire(message, planes)) }
  }
}

export function reviveHandler(bus: A2aBus): Handler<typeof a2aRevive> {
  return async ({ agent_id, message_id, route }) => ({ revived: (await bus.revive(agent_id, [message_id], route)) > 0 })
}

export function broadcastHandler(
  bus: PlaneBus,
  orchestrator: Orchestrator,
  planes: Planes
): Handler<typeof a2aBroadcast> {
  return ({ sender_id: sender, sender_session_id, ...message }) => {
    const view = requireAgent(orchestrator, sender)
    if (sender_session_id !== undefined) checkBinding(view, sender_session_id, 'sender_session_id')
    const { message: sent, inboxes, dropped } = bus.announceToAll({ ...message, sender })
    return {
      message_id: sent.id,
      sender,
      delivery_plane: sent.plane,
      route: planes.routeOf(sent.plane),
      receivers: inboxes,
      dropped_messages: dropped
    }
  }
}

export function historyHandler(bus: A2aBus, planes: Planes): Handler<typeof a2aHistory> {
  return async ({ since_ms, limit }) => {
    const messages = await bus.history({ limit, ...(since_ms === undefined ? {} : { since: since_ms }) })
    return { messages: messages.map(message => toWire(message, planes)) }
  }
}

/** Maximum characters of a message's content, so that all messages fit into one frame of the console's stream. */
const MAX_CONTENT = 400

export function messagesHandler(
  bus: A2aBus,
  orchestrator: Pick<Orchestrator, 'agent'>,
  planes: Planes
): Handler<typeof a2aMessages> {
  return async ({ limit }) => ({
    messages: (await bus.history({ limit })).map(message => ({
      key: `${message.plane}-${message.id}`,
      id: message.id,
      sender: message.sender,
      sender_name: agentName(orchestrator, message.sender),
      receiver: message.receiver,
      receiver_name: message.receiver === null ? 'all' : agentName(orchestrator, message.receiver),
      msg_type: message.msg_type,
      content: contentOf(message).slice(0, MAX_CONTENT),
      priority: message.priority,
      delivery_plane: message.plane,
      route: planes.routeOf(message.plane),
      acknowledged: message.acknowledged,
      timestamp_ms: message.timestamp_ms
    }))
  })
}

/** Returns the answer or the question of a clarification, and the payload of any other message. */
function contentOf({ msg_type, payload }: A2aMessage): string {
  if (!isClarification(msg_type)) return payload
  try {
    const { clarification_intent: intent, answer } = JSON.parse(payload) as Record<string, unknown>
    const text = answer ?? intent
    return typeof text === 'string' ? text : payload
  } catch {
    return payload
  }
}

/** Streams messages until the caller disconnects or a reload aborts `ending`; a reload awaits running calls. */
export function watchHandler(
  bus: A2aBus,
  durable: DurableInbox | null,
  planes: Planes,
  ending: AbortSignal
): Handler<typeof a2aWatch> {
  return async ({ agent_id }, call) => {
    let messages = 0
    const emit = (message: Parameters<typeof toWire>[0]): void => {
      const { sender, receiver } = message
      // Broadcasts have no receiver and match every agent.
      if (agent_id !== undefined && sender !== agent_id && receiver !== null && receiver !== agent_id) return
      messages += 1
      call.emit(toWire(message, planes))
    }
    const ended = new LinkedSignal().with(call.signal).with(ending)
    try {
      await streamMessages(bus, durable, emit, ended.signal)
    } finally {
      ended.close()
    }
    return { messages }
  }
}
