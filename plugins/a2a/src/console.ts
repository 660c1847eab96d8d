import { type DashboardPage, dashboardActions, dashboardPages } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

/** Topic: a message of this process was sent or acknowledged. */
export const MESSAGES_TOPIC = 'a2a.messages'

const agentPage = (name: string) =>
  ({ page: 'orchestrator-tools/agents/:id', params: { id: { from: 'row', name } } }) as const

const messages: DashboardPage = {
  path: 'a2a/messages',
  title: 'Messages',
  summary: 'Messages between agents',
  icon: 'network',
  section: 'run',
  order: 51,
  view: {
    kind: 'tabs',
    items: [
      {
        title: 'Messages',
        view: {
          kind: 'table',
          operation: 'a2a.messages',
          rows: 'messages',
          key: 'key',
          of: 'message',
          columns: [
            { field: 'timestamp_ms', title: 'Sent', format: 'time' },
            { field: 'sender_name', title: 'From', link: agentPage('sender') },
            { field: 'receiver_name', title: 'To', link: agentPage('receiver') },
            { field: 'msg_type', title: 'Type' },
            { field: 'content', title: 'Content' },
            { field: 'priority', title: 'Priority', format: 'text' },
            { field: 'delivery_plane', title: 'Delivery' },
            { field: 'acknowledged', title: 'Acknowledged' }
          ],
          filters: [
            { name: 'from', label: 'From', field: 'sender_name' },
            { name: 'type', label: 'Type', field: 'msg_type' },
            { name: 'content', label: 'Content', field: 'content' },
            { name: 'acknowledged', label: 'Acknowledged', choices: ['true', 'false'], field: 'acknowledged' }
          ],
          sort: '-timestamp_ms',
          empty:
            'The last messages between agents appear here. Agents send them with the tool svc_a2a_send; you can with: svc a2a send FROM TO TYPE TEXT'
        }
      },
      {
        title: 'Dead letters',
        view: {
          kind: 'table',
          operation: 'a2a.dead',
          rows: 'messages',
          key: 'id',
          of: 'dead-letter',
          columns: [
            { field: 'died_at_ms', title: 'Given up', format: 'time' },
            { field: 'receiver', title: 'To', link: agentPage('receiver') },
            { field: 'msg_type', title: 'Type' },
            { field: 'payload', title: 'Content' },
            { field: 'attempts', title: 'Deliveries' },
            { field: 'error', title: 'Why' }
          ],
          empty:
            'Durable messages appear here that a reader rejected, or that were delivered max_attempts times without acknowledgement.'
        }
      },
      { title: 'Send', view: { kind: 'form', operation: 'a2a.send', submit: 'Send' } },
      {
        title: 'Tasks as A2A',
        view: {
          kind: 'table',
          operation: 'a2a.tasks',
          rows: 'tasks',
          key: 'task_id',
          columns: [
            { field: 'task_id', title: 'Task' },
            { field: 'state', title: 'A2A state', format: 'state' },
            { field: 'status', title: 'Status', format: 'state' },
            { field: 'agent_name', title: 'Agent', link: agentPage('agent_id') },
            { field: 'holder', title: 'Process' },
            { field: 'context_id', title: 'Context' },
            { field: 'description', title: 'Description' },
            { field: 'created_at_ms', title: 'Submitted', format: 'time' }
          ],
          open: { page: 'orchestrator-tools/tasks/:id', params: { id: { from: 'row', name: 'task_id' } } },
          sort: '-task_id',
          empty:
            'Tasks in the states of the A2A protocol appear here, as other agents see them. Submit one with: svc orch submit "Write the parser"'
        }
      }
    ]
  }
}

export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, messages, `page ${messages.path}`)
  ctx.contribute(dashboardActions, {
    on: 'message',
    label: 'Acknowledge',
    operation: 'a2a.ack',
    bind: {
      agent_id: { from: 'row', name: 'receiver' },
      message_id: { from: 'row', name: 'id' },
      route: { from: 'row', name: 'route' }
    },
    when: { field: 'acknowledged', in: [false] }
  })
  ctx.contribute(dashboardActions, {
    on: 'dead-letter',
    label: 'Deliver again',
    operation: 'a2a.revive',
    bind: {
      agent_id: { from: 'row', name: 'receiver' },
      message_id: { from: 'row', name: 'id' },
      route: { from: 'row', name: 'route' }
    }
  })
}
