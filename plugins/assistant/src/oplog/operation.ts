import { defineOperation, t } from '@svc/plugin-sdk'
import { assistantErrors } from '../errors.ts'

const { ASI_NO_DATABASE } = assistantErrors.specs

export const oplog = defineOperation({
  id: 'assistant.oplog',
  summary: 'List the files that models wrote, newest first',
  input: t.object({
    agent_id: t.optional(t.integer({ minimum: 0, description: 'Only changes by this agent.' })),
    before: t.optional(t.integer({ minimum: 1, description: 'Only entries with a lower id.' })),
    limit: t.integer({ default: 50, minimum: 1, maximum: 1_000, description: 'Maximum number of entries.' })
  }),
  output: t.object({
    entries: t.array(
      t.object({
        id: t.integer(),
        operation_id: t.string(),
        kind: t.string({ description: 'file_edit or file_write; other programs may add kinds.' }),
        agent_id: t.string({ description: 'Id of the agent, or assistant.' }),
        description: t.string(),
        predecessor_hash: t.nullable(t.string(), { description: 'SHA-256 of the old text; null for a new file.' }),
        change_id: t.nullable(t.string(), { description: 'SHA-256 of the new text.' }),
        model_id: t.nullable(t.string()),
        timestamp_ms: t.integer(),
        undone: t.boolean()
      })
    )
  }),
  errors: { ASI_NO_DATABASE },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/assistant/oplog' },
    mcp: {
      name: 'svc_oplog',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['workspace'],
      use: 'To find which model changed a file, and from which text. Changes that are not committed: svc_git_status.'
    },
    rpc: true,
    cli: {
      command: 'workspace oplog',
      view: { rows: 'entries', columns: ['id', 'kind', 'agent_id', 'model_id', 'description', 'timestamp_ms'] }
    }
  }
})
