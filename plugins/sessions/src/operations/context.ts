import type { ContextEntry, Orchestrator, Transcripts } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { sessionErrors } from '../errors.ts'
import { MAX_KEY_LENGTH, MAX_VALUE_LENGTH, type SharedContext } from '../store/shared-context.ts'
import { CONTEXT_TOPIC } from '../topics.ts'
import { agentName } from './agent-name.ts'

const { SES_CONTEXT_FULL, SES_CONTEXT_INVALID, SES_CONTEXT_UNKNOWN } = sessionErrors.specs

const key = t.string({ description: 'Key of the entry.', minLength: 1, maxLength: MAX_KEY_LENGTH })

const entry = {
  key: t.string(),
  agent_id: t.nullable(t.integer(), { description: 'Agent that wrote the value.' }),
  updated_at_ms: t.nullable(t.integer()),
  expires_at_ms: t.nullable(t.integer(), { description: 'Null for never.' })
}

export const contextGet = defineOperation({
  id: 'sessions.getContext',
  summary: 'Read a shared value',
  input: t.object({ key }),
  output: t.object({ ...entry, value: t.string() }),
  errors: { SES_CONTEXT_UNKNOWN },
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_get_context',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['sessions'],
      use: 'Reads one key that svc_set_context wrote. svc_list_context lists the keys.'
    },
    cli: { command: 'context get', args: ['key'], view: { text: 'value' } },
    rpc: true
  }
})

export const contextSet = defineOperation({
  id: 'sessions.setContext',
  summary: 'Share a value with agents and tools',
  input: t.object({
    key,
    value: t.string({ description: 'Value to share.', maxLength: MAX_VALUE_LENGTH }),
    agent_id: t.optional(t.integer({ description: 'Agent that writes it.', minimum: 0 })),
    ttl_seconds: t.optional(
      t.integer({
        description: 'Seconds until it expires; 0 or absent: never.',
        minimum: 0,
        maximum: 315_360_000
      })
    )
  }),
  output: t.object({ key: t.string(), expires_at_ms: t.nullable(t.integer()) }),
  errors: { SES_CONTEXT_FULL, SES_CONTEXT_INVALID },
  idempotent: true,
  expose: {
    mcp: {
      name: 'svc_set_context',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['sessions'],
      use: 'For small facts that other agents need. A message to one agent: svc_a2a_send.'
    },
    cli: { command: 'context set', args: ['key', 'value'] },
    rpc: true
  }
})

export const contextList = defineOperation({
  id: 'sessions.listContext',
  summary: 'List the keys of shared values',
  input: t.object({
    prefix: t.optional(t.string({ description: 'Prefix of the keys.', maxLength: MAX_KEY_LENGTH }))
  }),
  output: t.object({
    entries: t.array(
      t.object({
        ...entry,
        agent_name: t.optional(t.string()),
        length: t.integer({ description: 'Characters of the value.' })
      })
    ),
    count: t.integer()
  }),
  effect: 'read',
  watch: { on: [CONTEXT_TOPIC], minMs: 1_000 },
  expose: {
    mcp: {
      name: 'svc_list_context',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['sessions'],
      use: 'Find a key, then read it with svc_get_context.'
    },
    cli: {
      command: 'context list',
      args: ['prefix'],
      view: { rows: 'entries', columns: ['key', 'length', 'agent_id', 'updated_at_ms', 'expires_at_ms'] }
    },
    rpc: true
  }
})

const HISTORY = 'chat_history:'

/** Returns the handler. The history of a session is also available under a key, for older clients. */
export function getHandler(store: SharedContext, transcripts: Transcripts): Handler<typeof contextGet> {
  return async ({ key }) => {
    const found = await store.get(key)
    if (found !== null) return { ...shown(found), value: found.value }
    if (key.startsWith(HISTORY)) {
      const history = await transcripts.history(key.slice(HISTORY.length))
      if (history.length > 0)
        return { key, agent_id: null, updated_at_ms: null, expires_at_ms: null, value: JSON.stringify(history) }
    }
    throw sessionErrors.create(
      'SES_CONTEXT_UNKNOWN',
      `the shared context has no key ${JSON.stringify(key)}, or its value has expired`,
      { hint: 'svc context list shows the keys' }
    )
  }
}

export function setHandler(store: SharedContext, changed: () => void): Handler<typeof contextSet> {
  return async ({ key, value, agent_id = null, ttl_seconds }) => {
    const expires_at_ms = store.expiry(ttl_seconds === 0 ? null : ttl_seconds)
    await store.update(key, () => ({ value, agent_id, expires_at_ms }))
    changed()
    return { key, expires_at_ms }
  }
}

export function listHandler(
  store: SharedContext,
  orchestrator: () => Orchestrator | undefined
): Handler<typeof contextList> {
  return async ({ prefix }) => {
    const entries = await store.list(prefix)
    const running = orchestrator()
    return {
      entries: entries.map(each => ({
        ...shown(each),
        ...agentName(running, each.agent_id),
        length: each.value.length
      })),
      count: entries.length
    }
  }
}

function shown({ key, agent_id, updated_at_ms, expires_at_ms }: ContextEntry): Omit<ContextEntry, 'value'> {
  return { key, agent_id, updated_at_ms, expires_at_ms }
}
