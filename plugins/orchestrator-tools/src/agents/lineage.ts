import { type DatabaseStore, orchestrationErrors, rowsByName, type SqlValue } from '@svc/contracts'
import { defineOperation, type Handler, type InputOf, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentId, numberOf, taskId } from '../fields.ts'
import { tool } from '../tool.ts'

const { ORC_NO_DATABASE } = orchestrationErrors.specs
const text = (description: string) => t.optional(t.string({ minLength: 1, maxLength: 2_048, description }))

const handoffLineage = defineOperation({
  id: 'orchestrator.lineage',
  summary: 'Show the lineage of work, newest first',
  input: t.object({
    task_id: t.optional(taskId),
    agent_id: t.optional(agentId),
    session_id: text('Only of this session.'),
    plan_session_id: text('Only of this plan.'),
    kind: text('Only of this kind, for example task_delegated.'),
    before: t.optional(t.integer({ minimum: 1, description: 'Only rows with a lower id than this.' })),
    limit: t.integer({ default: 50, minimum: 1, maximum: 1_000, description: 'Maximum number of rows.' })
  }),
  output: t.object({
    events: t.array(
      t.object({
        id: t.integer(),
        kind: t.string(),
        task_id: t.nullable(t.integer()),
        agent_id: t.nullable(t.integer()),
        session_id: t.nullable(t.string()),
        workflow_id: t.nullable(t.string()),
        plan_session_id: t.nullable(t.string()),
        plan_node_id: t.nullable(t.string()),
        payload: t.unknown({ description: 'Data of the row, by kind; null if there is none.' }),
        created_at_ms: t.integer()
      })
    )
  }),
  errors: { ORC_NO_DATABASE },
  effect: 'read',
  expose: {
    mcp: tool('handoff_lineage', {
      readRole: true,
      toolsets: ['agents'],
      use: 'Which task or plan came from which, and who had it. One task in detail: svc_task_details.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/lineage' },
    rpc: true,
    cli: {
      command: 'orch agents lineage',
      args: ['task_id'],
      view: { rows: 'events', columns: ['id', 'kind', 'task_id', 'agent_id', 'plan_session_id', 'created_at_ms'] }
    }
  }
})

function handoffLineageHandler({ orchestrator, database }: Dependencies): Handler<typeof handoffLineage> {
  return async input => {
    const store = database?.available
    if (store === undefined)
      throw orchestrationErrors.create('ORC_NO_DATABASE', 'Database not attached.', {
        hint: 'lineage is stored only in a database; enable the plugin database'
      })
    return { events: await rowsOf(store, orchestrator.repositoryId, input) }
  }
}

async function rowsOf(store: DatabaseStore, repository: string, input: InputOf<typeof handoffLineage>) {
  const { task_id, agent_id, before, limit } = input
  const conditions: (readonly [sql: string, value: SqlValue | undefined])[] = [
    ['repository_id = ?', repository],
    ['task_id = ?', task_id === undefined ? undefined : numberOf(task_id)],
    ['agent_id = ?', agent_id === undefined ? undefined : String(numberOf(agent_id))],
    ['session_id = ?', input.session_id],
    ['plan_session_id = ?', input.plan_session_id],
    ['kind = ?', input.kind],
    ['id < ?', before]
  ]
  const used = conditions.filter(([, value]) => value !== undefined) as (readonly [string, SqlValue])[]
  const result = await store.query(
    `SELECT * FROM orchestration_lineage_events WHERE ${used.map(([sql]) => sql).join(' AND ')} ORDER BY id DESC LIMIT ?`,
    [...used.map(([, value]) => value), limit]
  )
  return rowsByName(result).map(row => ({
    id: Number(row.id),
    kind: String(row.kind),
    task_id: Number(row.task_id) || null,
    agent_id: row.agent_id === null ? null : Number(row.agent_id),
    session_id: textOrNull(row.session_id),
    workflow_id: textOrNull(row.workflow_id),
    plan_session_id: textOrNull(row.plan_session_id),
    plan_node_id: textOrNull(row.plan_node_id),
    payload: typeof row.payload_json === 'string' ? JSON.parse(row.payload_json) : null,
    created_at_ms: Number(row.created_at_ms)
  }))
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

export const lineages = [bound(handoffLineage, handoffLineageHandler)]
