import {
  type Column,
  type DashboardAction,
  type DashboardCard,
  type DashboardPage,
  dashboardActions,
  dashboardCards,
  dashboardInbox,
  dashboardPages,
  dashboardSearch,
  type Link,
  type View
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { TASK_STATES } from '../feeds/task-row.ts'

const TASKS = 'orchestrator-tools/tasks'
const TASK = 'orchestrator-tools/tasks/:id'
const ROUTING = 'orchestrator-tools/tasks/:id/routing'
const AGENTS = 'orchestrator-tools/agents'
const AGENT = 'orchestrator-tools/agents/:id'

const SUBMIT_HINT = 'Submit one with the button Submit a task, or with: svc orch submit "Write the parser"'

/** Links to the page of the task or agent whose id is in a field of the row. */
const taskLink = (name: string): Link => ({ page: TASK, params: { id: { from: 'row', name } } })
const agentLink = (name: string): Link => ({ page: AGENT, params: { id: { from: 'row', name } } })
const tasksInState = (state: string): Link => ({ page: TASKS, params: { state: { value: state } } })
const ofTask = { task_id: { from: 'route', name: 'id' } } as const
const ofAgent = { agent_id: { from: 'route', name: 'id' } } as const

const taskColumns: readonly Column[] = [
  { field: 'task', title: 'Task' },
  { field: 'state', title: 'State', format: 'state' },
  { field: 'description', title: 'Description' },
  { field: 'agent', title: 'Agent', link: agentLink('agent_id') },
  { field: 'process', title: 'Process' },
  { field: 'priority', title: 'Priority', format: 'text' },
  { field: 'waiting_for', title: 'Waits for' },
  { field: 'position', title: 'Place' },
  { field: 'submitted_at_ms', title: 'Submitted', format: 'time' }
]

const tasks: View = {
  kind: 'table',
  operation: 'orchestrator.tasks.feed',
  key: 'key',
  columns: taskColumns,
  filters: [
    { name: 'state', label: 'State', choices: TASK_STATES, field: 'state' },
    { name: 'agent', label: 'Agent', field: 'agent' },
    { name: 'process', label: 'Process', field: 'process' },
    { name: 'text', label: 'Description', field: 'description' }
  ],
  open: taskLink('key'),
  sort: '-id',
  empty: `Tasks for agents appear here: queued, in progress, and the last 1,000 that ended. ${SUBMIT_HINT}`
}

const queues: View = {
  kind: 'table',
  operation: 'orchestrator.queues',
  rows: 'tasks',
  key: 'id',
  columns: [
    { field: 'agent', title: 'Agent', link: agentLink('agent_id') },
    { field: 'position', title: 'Place' },
    { field: 'task', title: 'Task', link: taskLink('id') },
    { field: 'priority', title: 'Priority', format: 'text' },
    { field: 'description', title: 'Description' },
    { field: 'submitted_at_ms', title: 'Submitted', format: 'time' }
  ],
  empty: `The next tasks of each agent appear here, in the order in which they start. ${SUBMIT_HINT}`
}

const taskRecord: View = {
  kind: 'record',
  operation: 'orchestrator.tasks.record',
  input: ofTask,
  name: 'task',
  of: 'task',
  columns: [
    { field: 'task', title: 'Task' },
    { field: 'state', title: 'State', format: 'state' },
    { field: 'waiting_for', title: 'Waits for' },
    { field: 'error', title: 'Error' },
    { field: 'reason', title: 'Why it was cancelled' },
    { field: 'description', title: 'Description' },
    { field: 'agent', title: 'Agent', link: agentLink('agent_id') },
    { field: 'process', title: 'Process' },
    {
      field: 'routing',
      title: 'Why this agent',
      link: { page: ROUTING, params: { id: { from: 'row', name: 'key' } } }
    },
    { field: 'priority', title: 'Priority', format: 'text' },
    { field: 'position', title: 'Place in the queue' },
    { field: 'phase', title: 'Phase' },
    { field: 'attempts', title: 'Attempts' },
    { field: 'submitted_at_ms', title: 'Submitted', format: 'time' },
    { field: 'started_at_ms', title: 'Started', format: 'time' },
    { field: 'ended_at_ms', title: 'Ended', format: 'time' }
  ]
}

const moreOfTask: View = {
  kind: 'record',
  operation: 'orchestrator.tasks.record',
  input: ofTask,
  columns: [
    { field: 'waited_ms', title: 'Waited', format: 'ms' },
    { field: 'worked_ms', title: 'Worked', format: 'ms' },
    { field: 'category', title: 'Category' },
    { field: 'role', title: 'Role' },
    { field: 'complexity', title: 'Complexity (1 to 10)' },
    { field: 'approval_tier', title: 'Approval tier' },
    { field: 'test_decision', title: 'Tests' },
    {
      field: 'session_id',
      title: 'Session',
      link: { page: 'sessions/sessions/:id', params: { id: { from: 'row', name: 'session_id' } } }
    },
    {
      field: 'plan_id',
      title: 'Plan',
      link: { page: 'planning/plans/:id', params: { id: { from: 'row', name: 'plan_id' } } }
    },
    { field: 'audit_report', title: 'Report of the review' },
    { field: 'trace_id', title: 'Trace', format: 'code' }
  ]
}

const taskDetails: View = {
  kind: 'tabs',
  items: [
    {
      title: 'Timeline',
      view: {
        kind: 'timeline',
        operation: 'orchestrator.tasks.timeline',
        input: ofTask,
        rows: 'bars',
        lane: 'lane',
        start: 'start',
        end: 'end',
        state: 'state',
        label: 'label',
        depth: 'depth',
        columns: [{ field: 'label' }],
        empty:
          'The waits and the work of the task appear here. A task that no agent took, or of an earlier process, has none.'
      }
    },
    {
      title: 'Gates',
      view: {
        kind: 'table',
        operation: 'orchestrator.explainTask',
        input: ofTask,
        rows: 'gates',
        key: 'gate',
        columns: [
          { field: 'gate', title: 'Gate' },
          { field: 'verdict', title: 'Verdict', format: 'state' },
          { field: 'detail', title: 'Finding' },
          { field: 'timestamp_ms', title: 'Checked', format: 'time' }
        ],
        empty: 'The checks of the last attempt to complete the task appear here: svc orch complete runs them.'
      }
    },
    {
      title: 'History',
      view: {
        kind: 'table',
        operation: 'orchestrator.tasks.timeline',
        input: ofTask,
        rows: 'stages',
        key: 'id',
        columns: [
          { field: 'timestamp_ms', title: 'Time', format: 'time' },
          { field: 'stage', title: 'Stage' },
          { field: 'detail', title: 'Detail' }
        ],
        empty: 'The steps of the last 200 tasks of this process appear here. This task is older.'
      }
    },
    {
      title: 'Events',
      view: {
        kind: 'log',
        operation: 'orchestrator.tasks.events',
        input: ofTask,
        rows: 'events',
        time: 'timestamp_ms',
        message: 'text',
        empty: 'Events of the task appear here while it runs. The last 1,024 events of all tasks are kept.'
      }
    },
    {
      title: 'Conversation',
      view: {
        kind: 'table',
        operation: 'orchestrator.tasks.record',
        input: ofTask,
        rows: 'transcript',
        key: 'id',
        columns: [
          { field: 'timestamp_ms', title: 'Time', format: 'time' },
          { field: 'agent_name', title: 'Agent', link: agentLink('agent_id') },
          { field: 'message', title: 'Message' }
        ],
        empty: 'The last ten messages of the agent that works on the task appear here.'
      }
    },
    {
      title: 'Observations',
      view: {
        kind: 'table',
        operation: 'orchestrator.tasks.record',
        input: ofTask,
        rows: 'observations',
        key: 'id',
        columns: [{ field: 'note', title: 'Note' }],
        empty: 'The last twenty observations that the agent recorded during the work appear here.'
      }
    },
    {
      title: 'Files',
      view: {
        kind: 'table',
        operation: 'orchestrator.tasks.record',
        input: ofTask,
        rows: 'files',
        key: 'path',
        columns: [
          { field: 'path', title: 'File', format: 'code' },
          { field: 'access', title: 'Access' }
        ],
        empty: 'The files that the task reads or writes appear here: svc orch submit --files names them.'
      }
    },
    {
      title: 'Depends on',
      view: {
        kind: 'table',
        operation: 'orchestrator.tasks.record',
        input: ofTask,
        rows: 'depends_on',
        key: 'id',
        columns: [
          { field: 'id', title: 'Task' },
          { field: 'state', title: 'State', format: 'state' },
          { field: 'description', title: 'Description' }
        ],
        open: taskLink('id'),
        empty: 'Tasks that must be complete before this one appear here: svc orch submit --depends_on names them.'
      }
    },
    { title: 'Details', view: moreOfTask }
  ]
}

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

const overview: View = {
  kind: 'record',
  operation: 'orchestrator.summary',
  of: 'orchestrator',
  columns: [
    { field: 'running', title: 'Tasks may start' },
    { field: 'agents', title: 'Agents' },
    { field: 'working', title: 'Working' },
    { field: 'tasks', title: 'Known tasks' },
    { field: 'durable', title: 'Stored' }
  ]
}

export const pages: readonly DashboardPage[] = [
  {
    path: TASKS,
    title: 'Tasks',
    summary: 'All tasks and the queues of the agents',
    icon: 'list-checks',
    section: 'run',
    order: 30,
    view: {
      kind: 'tabs',
      items: [
        { title: 'Tasks', view: tasks },
        { title: 'Queues', view: queues },
        { title: 'Control', view: overview }
      ]
    }
  },
  {
    path: TASK,
    title: 'Task',
    summary: 'One task: its state, history, gates and events',
    icon: 'list-checks',
    section: 'run',
    view: { kind: 'stack', items: [{ view: taskRecord }, { view: taskDetails }] }
  },
  {
    path: ROUTING,
    title: 'Routing of a task',
    summary: 'Why the task went to its agent: the points of each candidate',
    icon: 'route',
    section: 'run',
    view: { kind: 'module', entry: 'explain', uses: ['orchestrator.explainTask'] }
  },
  {
    path: 'orchestrator-tools/submit',
    title: 'Submit a task',
    summary: 'Gives a task to the fittest agent',
    icon: 'play',
    section: 'run',
    order: 31,
    role: 'operator',
    under: TASKS,
    view: {
      kind: 'form',
      operation: 'orchestrator.submitTask',
      submit: 'Submit',
      next: taskLink('task_id')
    }
  },
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
  },
  {
    path: 'orchestrator-tools/locks',
    title: 'Files and locks',
    summary: 'Files that tasks lock, and their owners',
    icon: 'file-text',
    section: 'run',
    order: 33,
    view: {
      kind: 'tabs',
      items: [
        {
          title: 'Locks',
          view: {
            kind: 'table',
            operation: 'orchestrator.lockStatus',
            rows: 'locks',
            key: 'path',
            columns: [
              { field: 'path', title: 'File', format: 'code' },
              { field: 'kind', title: 'Lock', format: 'text' },
              { field: 'holders', title: 'Agents' },
              { field: 'task_id', title: 'Task', link: taskLink('task_id') },
              { field: 'acquired_at_ms', title: 'Since', format: 'time' }
            ],
            filters: [{ name: 'file', label: 'File', field: 'path' }],
            empty: 'A file appears here while a task that reads or writes it is in progress: svc orch submit --files'
          }
        },
        {
          title: 'Files',
          view: {
            kind: 'table',
            operation: 'orchestrator.fileGraph',
            rows: 'files',
            key: 'path',
            columns: [
              { field: 'path', title: 'File', format: 'code' },
              { field: 'owner', title: 'Owner', link: agentLink('owner') },
              { field: 'readers', title: 'Read by tasks' },
              { field: 'writers', title: 'Written by tasks' }
            ],
            filters: [{ name: 'file', label: 'File', field: 'path' }],
            empty: 'Files with an owner, or with unfinished tasks, appear here: svc orch files claim AGENT PATH'
          }
        }
      ]
    }
  }
]

export const cards: readonly DashboardCard[] = [
  {
    title: 'Tasks by state',
    order: 31,
    size: 's',
    link: { page: TASKS },
    view: {
      kind: 'table',
      operation: 'orchestrator.summary',
      rows: 'states',
      key: 'state',
      columns: [
        { field: 'state', title: 'State', format: 'state' },
        { field: 'tasks', title: 'Tasks' }
      ],
      open: { page: TASKS, params: { state: { from: 'row', name: 'state' } } }
    }
  },
  {
    title: 'Tasks that wait',
    order: 32,
    size: 's',
    view: {
      kind: 'record',
      operation: 'orchestrator.summary',
      columns: [
        { field: 'approvals', title: 'Approvals', link: tasksInState('BlockedOnApproval') },
        { field: 'doubts', title: 'Doubts', link: tasksInState('Doubted') },
        { field: 'failed', title: 'Failed tasks', link: tasksInState('Failed') }
      ]
    }
  }
]

const row = (name: string) => ({ from: 'row', name }) as const
const task = { task_id: row('key') }
const agent = { agent_id: row('id') }
const inState = (...states: readonly string[]) => ({ field: 'state', in: states })

export const actions: readonly DashboardAction[] = [
  {
    on: 'task',
    label: 'Approve',
    operation: 'orchestrator.approveTask',
    bind: task,
    when: inState('BlockedOnApproval'),
    tone: 'primary'
  },
  {
    on: 'task',
    label: 'Resolve doubt',
    operation: 'orchestrator.resolveDoubt',
    bind: task,
    ask: ['outcome', 'report'],
    when: inState('Doubted'),
    tone: 'primary'
  },
  {
    on: 'task',
    label: 'Retry',
    operation: 'orchestrator.retryTask',
    bind: task,
    when: inState('Failed'),
    tone: 'primary'
  },
  {
    on: 'task',
    label: 'Change priority',
    operation: 'orchestrator.reorderTask',
    bind: task,
    ask: ['priority'],
    when: inState('Queued', 'Blocked', 'BlockedOnApproval')
  },
  {
    on: 'task',
    label: 'Doubt',
    operation: 'orchestrator.doubtTask',
    bind: task,
    ask: ['reason'],
    when: inState('Queued', 'InProgress')
  },
  {
    on: 'task',
    label: 'Cancel task',
    operation: 'orchestrator.cancelTask',
    bind: task,
    when: inState('Queued', 'InProgress', 'Blocked', 'BlockedOnApproval', 'Doubted', 'Failed'),
    role: 'owner',
    tone: 'danger'
  },
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
  },
  { on: 'orchestrator', label: 'Rebalance queues', operation: 'orchestrator.rebalance', bind: {} },
  {
    on: 'orchestrator',
    label: 'Start',
    operation: 'orchestrator.start',
    bind: {},
    when: { field: 'running', in: [false] },
    tone: 'primary'
  },
  {
    on: 'orchestrator',
    label: 'Emergency stop',
    operation: 'orchestrator.emergencyStop',
    bind: {},
    ask: ['reason'],
    when: { field: 'running', in: [true] },
    role: 'owner',
    tone: 'danger'
  }
]

/** Contributes everything that the console shows of the orchestrator. */
export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const page of pages) ctx.contribute(dashboardPages, page, `page ${page.path}`)
  for (const card of cards) ctx.contribute(dashboardCards, card, `card ${card.title}`)
  for (const action of actions) ctx.contribute(dashboardActions, action, `action ${action.label}`)
  ctx.contribute(dashboardInbox, { operation: 'orchestrator.inbox' })
  ctx.contribute(dashboardSearch, { operation: 'orchestrator.search' })
}
