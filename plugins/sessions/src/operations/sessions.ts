import { type Orchestrator, orchestrationErrors, type Transcripts } from '@svc/contracts'
import { defineOperation, type Handler, type Infer, t } from '@svc/plugin-sdk'
import { sessionErrors } from '../errors.ts'
import type { SessionView } from '../sessions/session-state.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { SESSIONS_TOPIC } from '../topics.ts'
import { agentName } from './agent-name.ts'
import { requireAgent } from './agents.ts'
import { agentId, historyEntry, sessionName, sessionView } from './parts.ts'

const { SES_SESSION_INVALID, SES_SESSION_UNKNOWN } = sessionErrors.specs

export const sessionCreate = defineOperation({
  id: 'sessions.create',
  summary: 'Create a session for an agent',
  input: t.object({ agent_id: agentId }),
  output: sessionView,
  errors: { ORC_AGENT_NOT_FOUND: orchestrationErrors.specs.ORC_AGENT_NOT_FOUND },
  expose: {
    mcp: {
      name: 'svc_session_create',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['sessions'],
      use: 'Only if the agent has no session yet: svc_session_list.'
    },
    rpc: true
  }
})

export const sessionInfo = defineOperation({
  id: 'sessions.info',
  summary: 'Show a session',
  input: t.object({ session_id: sessionName }),
  output: sessionView,
  errors: { SES_SESSION_UNKNOWN },
  effect: 'read',
  watch: { on: [SESSIONS_TOPIC], minMs: 1_000 },
  expose: {
    mcp: {
      name: 'svc_session_info',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['sessions'],
      use: 'Messages and tokens of one session. All sessions: svc_session_list.'
    },
    cli: { command: 'sessions show', args: ['session_id'] },
    rpc: true
  }
})

export const sessionList = defineOperation({
  id: 'sessions.list',
  summary: 'List sessions of the repository, last used first',
  input: t.object({
    limit: t.integer({ default: 100, minimum: 1, maximum: 1000, description: 'Maximum number.' })
  }),
  output: t.object({ sessions: t.array(sessionView), count: t.integer({ description: 'Total number.' }) }),
  effect: 'read',
  watch: { on: [SESSIONS_TOPIC], minMs: 2_000 },
  expose: {
    mcp: {
      name: 'svc_session_list',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['sessions'],
      use: 'Find the id of a session. Its state: svc_session_info.'
    },
    cli: {
      command: 'sessions list',
      view: { rows: 'sessions', columns: ['session_id', 'state', 'agent_id', 'turns', 'tokens', 'updated_at_ms'] }
    },
    rpc: true
  }
})

export const sessionReset = defineOperation({
  id: 'sessions.reset',
  summary: 'Reset a session: delete its messages',
  input: t.object({ session_id: sessionName }),
  output: t.object({ session_id: t.string(), turns_cleared: t.integer() }),
  errors: { SES_SESSION_UNKNOWN },
  effect: 'destructive',
  expose: {
    mcp: {
      name: 'svc_session_reset',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['sessions'],
      use: 'The messages cannot be restored. The session itself stays.'
    },
    cli: { command: 'sessions reset', args: ['session_id'] },
    rpc: true
  }
})

export const chatHistory = defineOperation({
  id: 'sessions.history',
  summary: 'Show the messages of a session, oldest first',
  input: t.object({
    session_id: t.string({ default: 'default', minLength: 1, maxLength: 2048, description: 'Name of the session.' }),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1000, description: 'Number of last turns.' })
  }),
  output: t.object({ session_id: t.string(), history: t.array(historyEntry) }),
  errors: { SES_SESSION_INVALID },
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_chat_history',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['chat'],
      use: 'What was said in a session of svc_chat_message.'
    },
    cli: {
      command: 'sessions history',
      args: ['session_id'],
      view: { rows: 'history', columns: ['timestamp', 'role', 'content'] }
    },
    rpc: true
  }
})

/** Returns the handler. Without an orchestrator, agents are unknown, so any id is accepted. */
export function createHandler(
  sessions: Sessions,
  orchestrator: () => Orchestrator | undefined
): Handler<typeof sessionCreate> {
  return async ({ agent_id }) => {
    const running = orchestrator()
    if (running !== undefined) requireAgent(running, agent_id)
    const view = await sessions.create(agent_id)
    running?.emit({ type: 'session_created', agent_id, session_id: view.session_id })
    return shown(view)
  }
}

export function infoHandler(
  sessions: Sessions,
  orchestrator: () => Orchestrator | undefined
): Handler<typeof sessionInfo> {
  return async ({ session_id }) => {
    const view = await sessions.require(session_id)
    return { ...shown(view), ...agentName(orchestrator(), view.agent_id) }
  }
}

export function listSessionsHandler(
  sessions: Sessions,
  orchestrator: () => Orchestrator | undefined
): Handler<typeof sessionList> {
  return async ({ limit }) => {
    const all = await sessions.list()
    const running = orchestrator()
    const first = all.slice(0, limit)
    return {
      sessions: first.map(view => ({ ...shown(view), ...agentName(running, view.agent_id) })),
      count: all.length
    }
  }
}

export function resetHandler(sessions: Sessions, transcripts: Transcripts): Handler<typeof sessionReset> {
  return async ({ session_id }) => {
    await sessions.require(session_id)
    return { session_id, turns_cleared: await transcripts.reset(session_id) }
  }
}

export function historyHandler(transcripts: Transcripts): Handler<typeof chatHistory> {
  return async ({ session_id, limit }) => ({
    session_id,
    history: (await transcripts.history(session_id, limit)).map(({ context_files, ...entry }) => ({
      ...entry,
      context_files: [...context_files]
    }))
  })
}

function shown({ repository_id: _, meta, ...view }: SessionView): Infer<typeof sessionView> {
  return { ...view, meta: { ...meta } }
}
