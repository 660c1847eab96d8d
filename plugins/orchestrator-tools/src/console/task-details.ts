import type { View } from '@svc/contracts'
import { agentLink, ofTask, taskLink } from './links.ts'

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

/** Tabs of the page of a task. */
export const taskDetails: View = {
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
