import { type AgentEvent, orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentId, numberOf } from '../fields.ts'
import { tool } from '../tool.ts'
import { eventLine } from '../top/event-line.ts'

const fields = {
  id: t.integer(),
  timestamp_ms: t.integer(),
  kind: t.object({ type: t.string() }, { additionalProperties: true })
}
const event = t.object(fields, { additionalProperties: true })
const eventWithText = t.object(
  { ...fields, text: t.string({ description: 'Time, type and fields of the event as one line.' }) },
  { additionalProperties: true }
)
const limit = t.integer({ default: 50, minimum: 1, maximum: 1_024, description: 'Maximum number of events.' })

const pollEvents = defineOperation({
  id: 'orchestrator.pollEvents',
  summary: 'List events since an event',
  input: t.object({
    since: t.integer({ default: 0, minimum: 0, description: 'Id of the last known event.' }),
    limit
  }),
  output: t.object({
    events: t.array(event),
    last_event_id: t.integer(),
    missed: t.boolean({
      description: 'Whether some events after `since` are no longer available; the last 1,024 are stored.'
    })
  }),
  effect: 'read',
  expose: {
    mcp: tool('poll_events', {
      toolsets: ['status'],
      use: 'Pass the last id that you saw, to follow what happens. The last events of one agent: svc_agent_events.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/events' },
    rpc: 'orch.poll_events'
  }
})

function pollEventsHandler({ orchestrator }: Dependencies): Handler<typeof pollEvents> {
  return ({ since, limit }) => {
    const kept = orchestrator.recentEvents()
    const news = kept.filter(({ id }) => id > since).slice(0, limit)
    const oldest = kept[0]
    return {
      events: news.map(plain),
      last_event_id: news.at(-1)?.id ?? Math.max(since, kept.at(-1)?.id ?? 0),
      missed: oldest !== undefined && oldest.id > since + 1
    }
  }
}

const agentEvents = defineOperation({
  id: 'orchestrator.agentEvents',
  summary: 'List the last events of one agent, or of all',
  input: t.object({ agent_id: t.optional(agentId), limit }),
  output: t.object({ events: t.array(event) }),
  effect: 'read',
  expose: {
    mcp: tool('agent_events', {
      toolsets: ['agents'],
      use: 'What agents did lately. To follow events from a known one on, use svc_poll_events.'
    })
  }
})

function agentEventsHandler({ orchestrator }: Dependencies): Handler<typeof agentEvents> {
  return ({ agent_id, limit }) => {
    const agent = agent_id === undefined ? null : numberOf(agent_id)
    const events = orchestrator.recentEvents().filter(each => agent === null || isOf(each, agent))
    return { events: events.slice(-limit).map(plain) }
  }
}

/** Returns true if an event concerns an agent. */
export function isOf({ kind }: AgentEvent, agent: number): boolean {
  const { agent_id, from, to, parent_agent_id, child_agent_id } = kind as Partial<Record<string, unknown>>
  return [agent_id, from, to, parent_agent_id, child_agent_id].includes(agent)
}

function plain({ id, timestamp_ms, kind }: AgentEvent) {
  return { id, timestamp_ms, kind: { ...kind } }
}

function textOf({ timestamp_ms, kind }: AgentEvent): string {
  return `${new Date(timestamp_ms).toISOString()}  ${eventLine(kind)}`
}

const followEvents = defineOperation({
  id: 'orchestrator.followEvents',
  summary: 'Follow events as they happen',
  input: t.object({
    follow: t.boolean({ default: false, description: 'Continue until interrupted.' }),
    limit: t.integer({
      default: 20,
      minimum: 0,
      maximum: 1_024,
      description: 'Maximum number of past events to start with.'
    }),
    type: t.optional(t.string({ maxLength: 128, description: 'Only events of this type.' }))
  }),
  output: t.object({ told: t.integer() }),
  events: eventWithText,
  errors: orchestrationErrors.specs,
  effect: 'read',
  timeoutMs: 0,
  expose: {
    rpc: 'orch.events',
    http: { method: 'GET', path: '/api/orchestrator/events/stream' },
    cli: { command: 'orch events', aliases: { follow: 'f', limit: 'n' }, view: { stream: 'text' } }
  }
})

function followEventsHandler({ orchestrator }: Dependencies): Handler<typeof followEvents> {
  return async ({ follow, limit, type }, call) => {
    let count = 0
    const emit = (event: AgentEvent): void => {
      if (type !== undefined && event.kind.type !== type) return
      count++
      call.emit({ ...plain(event), text: textOf(event) })
    }
    const past = limit === 0 ? [] : orchestrator.recentEvents(limit)
    for (const event of past) emit(event)
    if (!follow) return { told: count }
    const end = orchestrator.subscribe(emit)
    try {
      await new Promise<void>(resolve => {
        if (call.signal.aborted) resolve()
        else call.signal.addEventListener('abort', () => resolve(), { once: true })
      })
    } finally {
      end()
    }
    return { told: count }
  }
}

const publishMessage = defineOperation({
  id: 'orchestrator.publishMessage',
  summary: 'Post a note on the bulletin board',
  input: t.object({
    agent_id: agentId,
    topic: t.string({ default: 'note', minLength: 1, maxLength: 256, description: 'Topic of the note.' }),
    message: t.string({ minLength: 1, maxLength: 131_072, description: 'Text of the note.' })
  }),
  output: t.object({ ok: t.boolean() }),
  errors: orchestrationErrors.specs,
  expose: {
    mcp: tool('publish_message', {
      toolsets: ['messages'],
      use: 'Agents read the board when they begin. A message that must be acknowledged: svc_a2a_send.'
    })
  }
})

function publishMessageHandler({ orchestrator }: Dependencies): Handler<typeof publishMessage> {
  return ({ agent_id, topic, message }) => {
    orchestrator.emit({ type: 'note_published', agent_id: numberOf(agent_id), topic, text: message })
    return { ok: true }
  }
}

export const events = [
  bound(pollEvents, pollEventsHandler),
  bound(agentEvents, agentEventsHandler),
  bound(followEvents, followEventsHandler),
  bound(publishMessage, publishMessageHandler)
]
