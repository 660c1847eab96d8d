import type { DashboardAction, DashboardPage, View } from '@svc/contracts'
import { AGENT, AGENTS, agentLink, row, taskLink } from './links.ts'

const ofAgent = { agent_id: { from: 'route', name: 'id' } } as const

const agents: View = {
  kind: 'table',
  operation: 'orchestrator.agents.feed',
  key: 'id',
  of: 'agent',
  columns: [
    { field: 'name', title: 'Agent' },
    { field: 'state', title: 'State', format: 'state' },
    { field: 'process', title: 'Process' },
    { field: 'task', title: 'Works on', link: taskLink('task_id') },
    { field: 'queued', title: 'Queued' },
    { field: 'load', title: 'Load' },
    { field: 'trust', title: 'Trust', format: 'percent' },
    { field: 'trust_tier', title: 'Tier', format: 'text' },
    { field: 'budget', title: 'Budget' },
    { field: 'completed', title: 'Completed' }
  ],
  open: agentLink('id'),
  sort: 'name',
  empty: 'Agents appear here when the first task is submitted, or with: svc orch agents spawn NAME'
}

const attention: View = {
  kind: 'record',
  operation: 'orchestrator.attentionSummary',
  columns: [
    { field: 'enabled', title: 'Limited' },
    { field: 'spent_ms', title: 'Spent', format: 'ms' },
    { field: 'max_attention_ms', title: 'Budget', format: 'ms' },
    { field: 'ratio', title: 'Used', format: 'percent' },
    { field: 'signal', title: 'Signal' },
    { field: 'focus_depth', title: 'Focus', format: 'text' },
    { field: 'interrupt_freq_per_hour', title: 'Interruptions per hour' },
    { field: 'last_interrupt_ms', title: 'Last interruption', format: 'time' }
  ]
}

export const agentPages: readonly DashboardPage[] = [
  {
    path: AGENTS,
    title: 'Agents',
    summary: 'Agents with their load, trust and spending',
    icon: 'bot',
    section: 'run',
    order: 32,
    view: {
      kind: 'stack',
      items: [{ view: agents }, { title: 'Your attention', view: attention }]
    }
  },
  {
    path: AGENT,
    title: 'Agent',
    summary: 'One agent: its load, trust, spending and events',
    icon: 'bot',
    section: 'run',
    view: {
      kind: 'stack',
      items: [
        {
          view: {
            kind: 'record',
            operation: 'orchestrator.agents.record',
            input: ofAgent,
            name: 'name',
            of: 'agent',
            columns: [
              { field: 'name', title: 'Agent' },
              { field: 'agent', title: 'Label' },
              { field: 'process', title: 'Process' },
              { field: 'state', title: 'State', format: 'state' },
              { field: 'activity', title: 'Activity', format: 'text' },
              { field: 'task', title: 'Works on', link: taskLink('task_id') },
              { field: 'queued', title: 'Queued' },
              { field: 'urgent', title: 'Urgent' },
              { field: 'normal', title: 'Normal' },
              { field: 'background', title: 'Background' },
              { field: 'doubted', title: 'Doubted' },
              { field: 'completed', title: 'Completed' },
              { field: 'load', title: 'Load' },
              { field: 'trust', title: 'Trust', format: 'percent' },
              { field: 'trust_tier', title: 'Tier', format: 'text' },
              { field: 'budget', title: 'Budget' },
              { field: 'tokens_used', title: 'Tokens used', format: 'tokens' },
              { field: 'max_tokens', title: 'Maximum tokens', format: 'tokens' },
              { field: 'cost_usd', title: 'Cost in USD' },
              { field: 'max_cost_usd', title: 'Maximum cost in USD' },
              { field: 'owned_files', title: 'Owned files' },
              {
                field: 'session_id',
                title: 'Session',
                link: { page: 'sessions/sessions/:id', params: { id: { from: 'row', name: 'session_id' } } }
              },
              { field: 'dynamic', title: 'Retired when idle' }
            ]
          }
        },
        {
          title: 'Events',
          view: {
            kind: 'log',
            operation: 'orchestrator.agents.events',
            input: ofAgent,
            rows: 'events',
            time: 'timestamp_ms',
            message: 'text',
            empty: 'Events of the agent appear here while it works. The last 1,024 events of all agents are kept.'
          }
        }
      ]
    }
  }
]

const agent = { agent_id: row('id') }

export const agentActions: readonly DashboardAction[] = [
  {
    on: 'agent',
    label: 'Pause',
    operation: 'orchestrator.pauseAgent',
    bind: agent,
    when: { field: 'control', in: ['pause'] }
  },
  {
    on: 'agent',
    label: 'Resume',
    operation: 'orchestrator.resumeAgent',
    bind: agent,
    when: { field: 'control', in: ['resume'] }
  },
  {
    on: 'agent',
    label: 'Empty queue',
    operation: 'orchestrator.drainAgent',
    bind: agent,
    when: { field: 'own', in: [true] },
    role: 'owner',
    tone: 'danger'
  },
  {
    on: 'agent',
    label: 'Retire',
    operation: 'orchestrator.retireAgent',
    bind: agent,
    when: { field: 'own', in: [true] },
    role: 'owner',
    tone: 'danger'
  }
]
