import {
  type Column,
  type DashboardAction,
  dashboardActions,
  dashboardCards,
  dashboardInbox,
  dashboardPages,
  dashboardSearch,
  type Link,
  type TableView,
  type View
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const RUN_PAGE = 'app-runtime/workflows/:id'

/** Kind of row that the actions are for. */
const RUN = 'workflow-run'

const openRun: Link = { page: RUN_PAGE, params: { id: { from: 'row', name: 'run_id' } } }

const runColumns: readonly Column[] = [
  { field: 'workflow', title: 'Workflow' },
  { field: 'run_id', title: 'Run', format: 'code' },
  { field: 'program', title: 'App' },
  { field: 'status', title: 'Status', format: 'state' },
  { field: 'waits_for', title: 'Waits for' },
  { field: 'completed_steps', title: 'Steps', format: 'number' },
  { field: 'started_at', title: 'Started', format: 'time' },
  { field: 'completed_at', title: 'Ended', format: 'time' },
  { field: 'error', title: 'Error' }
]

const table: TableView = {
  kind: 'table',
  operation: 'workflow.list',
  input: {
    status: { from: 'filter', name: 'status' },
    program: { from: 'filter', name: 'app' },
    workflow: { from: 'filter', name: 'workflow' },
    // More rows would exceed what the console's stream carries at once.
    limit: { value: 200 }
  },
  rows: 'runs',
  key: 'run_id',
  columns: runColumns,
  filters: [
    {
      name: 'status',
      label: 'Status',
      choices: ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']
    },
    { name: 'app', label: 'App' },
    { name: 'workflow', label: 'Workflow' },
    { name: 'run', label: 'Run id contains', field: 'run_id' }
  ],
  of: RUN,
  open: openRun,
  empty:
    'No workflow runs. A run appears here when a program calls one of its workflows, or with: svc workflow run FILE NAME'
}

const timeline = { operation: 'workflow.timeline', input: { run_id: { from: 'route', name: 'id' } } } as const

const run: View = {
  kind: 'stack',
  items: [
    {
      view: {
        kind: 'record',
        ...timeline,
        field: 'run',
        name: 'workflow',
        of: RUN,
        columns: [...runColumns, { field: 'wakes_at', title: 'Continues at', format: 'time' }]
      }
    },
    {
      title: 'Timeline',
      view: {
        kind: 'timeline',
        ...timeline,
        rows: 'bars',
        lane: 'lane',
        start: 'start',
        end: 'end',
        state: 'state',
        label: 'label',
        columns: [
          { field: 'state', format: 'state' },
          { field: 'attempt', title: 'attempt', format: 'number' },
          { field: 'label' }
        ],
        empty: 'No steps yet. Each activity, timer and signal of the run appears here when it begins.'
      }
    },
    {
      title: 'Journal',
      view: {
        kind: 'table',
        ...timeline,
        rows: 'journal',
        key: 'entry',
        columns: [
          { field: 'entry', title: 'Entry', format: 'number' },
          { field: 'time', title: 'Time', format: 'time' },
          { field: 'event', title: 'Event' },
          { field: 'activity', title: 'Activity' },
          { field: 'step', title: 'Step', format: 'code' },
          { field: 'detail', title: 'Details' }
        ],
        sort: '-entry',
        empty: 'No journal entries yet. The run writes one for each step.'
      }
    },
    { title: 'Arguments', view: { kind: 'text', ...timeline, field: 'args', format: 'json' } },
    {
      title: 'Result',
      view: {
        kind: 'text',
        ...timeline,
        field: 'result',
        format: 'json',
        empty: 'No result yet. It appears when the run has completed.'
      }
    },
    {
      title: 'Replay: does the current program repeat the recorded steps?',
      view: {
        kind: 'form',
        operation: 'workflow.replay',
        input: { run_id: { from: 'route', name: 'id' } },
        submit: 'Replay'
      }
    }
  ]
}

const ACTIVE = ['pending', 'running', 'waiting']

const actions: readonly DashboardAction[] = [
  {
    on: RUN,
    label: 'Send signal',
    operation: 'workflow.signal',
    bind: { run_id: { from: 'row', name: 'run_id' }, key: { from: 'row', name: 'waits_for' } },
    ask: ['key', 'payload'],
    when: { field: 'status', in: ACTIVE },
    role: 'operator',
    tone: 'primary'
  },
  {
    on: RUN,
    label: 'Run again from a step',
    operation: 'workflow.reset',
    bind: { run_id: { from: 'row', name: 'run_id' } },
    ask: ['step'],
    when: { field: 'status', in: ['waiting', 'completed', 'failed', 'cancelled'] },
    role: 'owner',
    tone: 'danger'
  },
  {
    on: RUN,
    label: 'Cancel run',
    operation: 'workflow.cancel',
    bind: { run_id: { from: 'row', name: 'run_id' } },
    when: { field: 'status', in: ACTIVE },
    role: 'owner',
    tone: 'danger'
  }
]

/** Contributes the workflow pages of the console, their actions, and what waits for a person. */
export function contributeWorkflowPages(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, {
    path: 'app-runtime/workflows',
    title: 'Workflows',
    summary: 'Runs of the workflows of programs',
    icon: 'workflow',
    section: 'build',
    order: 40,
    view: table
  })
  ctx.contribute(dashboardPages, {
    path: RUN_PAGE,
    title: 'Workflow run',
    icon: 'workflow',
    section: 'build',
    view: run
  })
  for (const action of actions) ctx.contribute(dashboardActions, action, `${action.label} of a workflow run`)
  ctx.contribute(dashboardInbox, { operation: 'workflow.inbox' })
  ctx.contribute(dashboardSearch, { operation: 'workflow.search' })
  ctx.contribute(dashboardCards, {
    title: 'Active workflows',
    size: 'm',
    order: 60,
    view: {
      kind: 'table',
      operation: 'workflow.list',
      input: { active: { value: true }, limit: { value: 8 } },
      rows: 'runs',
      key: 'run_id',
      columns: [
        { field: 'workflow', title: 'Workflow' },
        { field: 'status', title: 'Status', format: 'state' },
        { field: 'waits_for', title: 'Waits for' },
        { field: 'started_at', title: 'Started', format: 'time' }
      ],
      open: openRun,
      empty: 'No active runs. A run appears here when a program calls one of its workflows.'
    },
    link: { page: 'app-runtime/workflows' }
  })
}
