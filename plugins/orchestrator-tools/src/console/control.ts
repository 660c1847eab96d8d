import type { DashboardAction, View } from '@svc/contracts'

/** State of the orchestrator as a whole. */
export const overview: View = {
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

export const controlActions: readonly DashboardAction[] = [
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
