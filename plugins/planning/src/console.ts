import {
  type DashboardAction,
  type DashboardPage,
  dashboardActions,
  dashboardPages,
  dashboardSearch,
  type Link,
  type View
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const PLANS = 'planning/plans'
const PLAN = 'planning/plans/:id'
const NEW_HINT = 'Create one with the button New plan, or with: svc plan new GOAL. Plans need the plugin database.'

const planLink = (name: string): Link => ({ page: PLAN, params: { id: { from: 'row', name } } })
const taskLink: Link = { page: 'orchestrator-tools/tasks/:id', params: { id: { from: 'row', name: 'task_id' } } }
const sessionLink: Link = { page: 'sessions/sessions/:id', params: { id: { from: 'row', name: 'session_id' } } }
const ofPlan = { session_id: { from: 'route', name: 'id' } } as const

const details: View = {
  kind: 'tabs',
  items: [
    {
      title: 'Graph',
      view: {
        kind: 'graph',
        operation: 'planning.record',
        input: ofPlan,
        nodes: 'nodes',
        edges: 'edges',
        open: taskLink,
        empty: 'The steps of the plan appear here. This plan has none.'
      }
    },
    {
      title: 'Steps',
      view: {
        kind: 'table',
        operation: 'planning.record',
        input: ofPlan,
        rows: 'nodes',
        key: 'id',
        columns: [
          { field: 'id', title: 'Step' },
          { field: 'state', title: 'State', format: 'state' },
          { field: 'description', title: 'Description' },
          { field: 'depends_on', title: 'Depends on' },
          { field: 'task_id', title: 'Task', link: taskLink },
          { field: 'attempts', title: 'Attempts' },
          { field: 'error', title: 'Error' }
        ],
        empty: 'The steps of the plan appear here. This plan has none.'
      }
    },
    {
      title: 'Versions',
      view: {
        kind: 'stack',
        items: [
          {
            view: {
              kind: 'table',
              operation: 'planning.record',
              input: ofPlan,
              rows: 'versions',
              key: 'version',
              columns: [
                { field: 'version', title: 'Version' },
                { field: 'trigger', title: 'Cause' },
                { field: 'verdict', title: 'Verdict', format: 'state' },
                { field: 'quality', title: 'Adequacy', format: 'percent' },
                { field: 'created_at_ms', title: 'Created', format: 'time' }
              ],
              empty: 'Versions of the plan appear here: each replan adds one.'
            }
          },
          {
            title: 'Two versions side by side',
            view: {
              kind: 'table',
              operation: 'planning.compare',
              input: {
                ...ofPlan,
                left: { from: 'filter', name: 'left' },
                right: { from: 'filter', name: 'right' }
              },
              rows: 'steps',
              key: 'id',
              columns: [
                { field: 'id', title: 'Step' },
                { field: 'change', title: 'Change', format: 'state' },
                { field: 'left_text', title: 'Left: description' },
                { field: 'left_state', title: 'Left: state', format: 'state' },
                { field: 'right_text', title: 'Right: description' },
                { field: 'right_state', title: 'Right: state', format: 'state' }
              ],
              filters: [
                { name: 'left', label: 'Left version' },
                { name: 'right', label: 'Right version' },
                { name: 'change', label: 'Change', choices: ['added', 'removed', 'changed', 'same'], field: 'change' }
              ],
              empty: 'Neither version has steps. Enter the numbers of two versions of the list above.'
            }
          }
        ]
      }
    },
    {
      title: 'Attempts',
      view: {
        kind: 'table',
        operation: 'planning.record',
        input: ofPlan,
        rows: 'attempts',
        key: 'key',
        columns: [
          { field: 'created_at_ms', title: 'Started', format: 'time' },
          { field: 'version', title: 'Version' },
          { field: 'step', title: 'Step' },
          { field: 'attempt', title: 'Attempt' },
          { field: 'task_id', title: 'Task', link: taskLink },
          { field: 'outcome', title: 'Outcome', format: 'state' },
          { field: 'latency_ms', title: 'Duration', format: 'ms' },
          { field: 'error', title: 'Error' }
        ],
        empty: 'Attempts at the steps appear here once the plan is executed: svc plan execute PLAN'
      }
    },
    {
      title: 'Replan',
      view: { kind: 'form', operation: 'ai.plan.replan', input: ofPlan, submit: 'Add a version' }
    }
  ]
}

const pages: readonly DashboardPage[] = [
  {
    path: PLANS,
    title: 'Plans',
    summary: 'Goals that were split into steps',
    icon: 'git-branch',
    section: 'run',
    order: 40,
    view: {
      kind: 'table',
      operation: 'planning.plans',
      rows: 'plans',
      key: 'id',
      columns: [
        { field: 'goal', title: 'Goal' },
        { field: 'status', title: 'State', format: 'state' },
        { field: 'completed', title: 'Completed' },
        { field: 'steps', title: 'Steps' },
        { field: 'version', title: 'Version' },
        { field: 'created_at_ms', title: 'Created', format: 'time' },
        { field: 'updated_at_ms', title: 'Changed', format: 'time' }
      ],
      filters: [
        {
          name: 'state',
          label: 'State',
          choices: ['pending', 'running', 'completed', 'failed', 'cancelled'],
          field: 'status'
        },
        { name: 'goal', label: 'Goal', field: 'goal' }
      ],
      open: planLink('id'),
      empty: `The newest 200 plans appear here. ${NEW_HINT}`
    }
  },
  {
    path: PLAN,
    title: 'Plan',
    summary: 'One plan: its steps, versions and attempts',
    icon: 'git-branch',
    section: 'run',
    view: {
      kind: 'stack',
      items: [
        {
          view: {
            kind: 'record',
            operation: 'planning.record',
            input: ofPlan,
            name: 'goal',
            of: 'plan',
            columns: [
              { field: 'id', title: 'Plan', format: 'code' },
              { field: 'status', title: 'State', format: 'state' },
              { field: 'goal', title: 'Goal' },
              { field: 'completed', title: 'Completed steps' },
              { field: 'steps', title: 'Steps' },
              { field: 'version', title: 'Version' },
              { field: 'strategy', title: 'Strategy' },
              { field: 'execution_mode', title: 'New tasks run', format: 'text' },
              { field: 'session_id', title: 'Session', link: sessionLink },
              { field: 'created_at_ms', title: 'Created', format: 'time' },
              { field: 'updated_at_ms', title: 'Changed', format: 'time' }
            ]
          }
        },
        { view: details }
      ]
    }
  },
  {
    path: 'planning/new',
    title: 'New plan',
    summary: 'Splits a goal into steps',
    icon: 'sparkles',
    section: 'run',
    order: 41,
    role: 'operator',
    under: PLANS,
    view: {
      kind: 'form',
      operation: 'ai.plan.new',
      submit: 'Create the plan',
      next: planLink('session_id')
    }
  }
]

const plan = { session_id: { from: 'row', name: 'id' } } as const

const actions: readonly DashboardAction[] = [
  {
    on: 'plan',
    label: 'Execute',
    operation: 'ai.plan.execute',
    bind: plan,
    when: { field: 'status', in: ['pending'] },
    tone: 'primary'
  },
  {
    on: 'plan',
    label: 'Execute in spite of risks',
    operation: 'ai.plan.execute',
    bind: plan,
    ask: ['force_risky_reason'],
    when: { field: 'status', in: ['pending'] },
    tone: 'danger'
  },
  {
    on: 'plan',
    label: 'Resume',
    operation: 'planning.resume',
    bind: plan,
    when: { field: 'status', in: ['failed', 'cancelled', 'running'] }
  }
]

export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const page of pages) ctx.contribute(dashboardPages, page, `page ${page.path}`)
  for (const action of actions) ctx.contribute(dashboardActions, action, `action ${action.label}`)
  ctx.contribute(dashboardSearch, { operation: 'planning.search' })
}
