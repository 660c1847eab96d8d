import { type DashboardPage, dashboardActions, dashboardPages, dashboardSearch, type View } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const SESSIONS = 'sessions/sessions'
const SESSION = 'sessions/sessions/:id'
const VALUE = 'sessions/context/:key'

const ofSession = { session_id: { from: 'route', name: 'id' } } as const
const agentLink = { page: 'orchestrator-tools/agents/:id', params: { id: { from: 'row', name: 'agent_id' } } } as const

const messages: View = {
  kind: 'log',
  operation: 'sessions.messages',
  input: ofSession,
  rows: 'messages',
  time: 'timestamp_ms',
  level: 'role',
  message: 'content',
  columns: [{ field: 'model' }, { field: 'files' }],
  filters: [{ name: 'text', label: 'Text', field: 'content' }],
  empty: 'Messages of the session appear here as they are sent: with the tool svc_chat_message and its session_id.'
}

const sessions: View = {
  kind: 'table',
  operation: 'sessions.list',
  input: { limit: { value: 200 } },
  rows: 'sessions',
  key: 'session_id',
  columns: [
    { field: 'session_id', title: 'Session' },
    { field: 'state', title: 'State', format: 'state' },
    { field: 'agent_name', title: 'Agent', link: agentLink },
    { field: 'turns', title: 'Messages' },
    { field: 'tokens', title: 'Tokens', format: 'tokens' },
    { field: 'created_at_ms', title: 'Created', format: 'time' },
    { field: 'updated_at_ms', title: 'Last used', format: 'time' }
  ],
  filters: [
    {
      name: 'state',
      label: 'State',
      choices: ['active', 'idle', 'archived', 'compacted'],
      field: 'state'
    },
    { name: 'session', label: 'Session', field: 'session_id' }
  ],
  open: { page: SESSION, params: { id: { from: 'row', name: 'session_id' } } },
  empty:
    'The last 200 used sessions appear here. A session begins with its first message, with the tool svc_chat_message, or with svc_session_create.'
}

const context: View = {
  kind: 'table',
  operation: 'sessions.listContext',
  rows: 'entries',
  key: 'key',
  columns: [
    { field: 'key', title: 'Key' },
    { field: 'length', title: 'Characters' },
    { field: 'agent_name', title: 'Written by agent', link: agentLink },
    { field: 'updated_at_ms', title: 'Changed', format: 'time' },
    { field: 'expires_at_ms', title: 'Expires', format: 'time' }
  ],
  filters: [{ name: 'key', label: 'Key', field: 'key' }],
  open: { page: VALUE, params: { key: { from: 'row', name: 'key' } } },
  empty: 'Values that agents share appear here. Share one with: svc context set KEY VALUE'
}

const pages: readonly DashboardPage[] = [
  {
    path: SESSIONS,
    title: 'Sessions',
    summary: 'Conversations of users and agents, and the values that they share',
    icon: 'users',
    section: 'run',
    order: 50,
    view: {
      kind: 'tabs',
      items: [
        { title: 'Sessions', view: sessions },
        { title: 'Shared context', view: context }
      ]
    }
  },
  {
    path: SESSION,
    title: 'Session',
    summary: 'One session and its messages',
    icon: 'users',
    section: 'run',
    view: {
      kind: 'stack',
      items: [
        {
          view: {
            kind: 'record',
            operation: 'sessions.info',
            input: ofSession,
            of: 'session',
            columns: [
              { field: 'session_id', title: 'Session', format: 'code' },
              { field: 'state', title: 'State', format: 'state' },
              { field: 'agent_name', title: 'Agent', link: agentLink },
              { field: 'turns', title: 'Messages' },
              { field: 'tokens', title: 'Tokens', format: 'tokens' },
              { field: 'created_at_ms', title: 'Created', format: 'time' },
              { field: 'updated_at_ms', title: 'Last used', format: 'time' },
              { field: 'meta', title: 'Metadata', format: 'json' }
            ]
          }
        },
        { title: 'Messages', view: messages }
      ]
    }
  },
  {
    path: VALUE,
    title: 'Shared value',
    summary: 'One value of the shared context',
    icon: 'boxes',
    section: 'run',
    view: {
      kind: 'text',
      operation: 'sessions.getContext',
      input: { key: { from: 'route', name: 'key' } },
      field: 'value',
      format: 'code',
      empty: 'The value is an empty text.'
    }
  }
]

export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const page of pages) ctx.contribute(dashboardPages, page, `page ${page.path}`)
  ctx.contribute(dashboardActions, {
    on: 'session',
    label: 'Delete messages',
    operation: 'sessions.reset',
    bind: { session_id: { from: 'row', name: 'session_id' } },
    role: 'owner',
    tone: 'danger'
  })
  ctx.contribute(dashboardSearch, { operation: 'sessions.search' })
}
