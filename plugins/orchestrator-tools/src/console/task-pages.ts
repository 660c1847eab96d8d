import type { Column, DashboardAction, DashboardCard, DashboardPage, View } from '@svc/contracts'
import { TASK_STATES } from '../feeds/task-row.ts'
import { overview } from './control.ts'
import { agentLink, inState, ofTask, ROUTING, row, SUBMIT_HINT, TASK, TASKS, taskLink, tasksInState } from './links.ts'
import { taskDetails } from './task-details.ts'

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

export const taskPages: readonly DashboardPage[] = [
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
  }
]

export const taskCards: readonly DashboardCard[] = [
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

const task = { task_id: row('key') }

export const taskActions: readonly DashboardAction[] = [
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
  }
]
