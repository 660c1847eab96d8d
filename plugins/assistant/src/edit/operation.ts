import { defineOperation, t } from '@svc/plugin-sdk'
import { assistantErrors } from '../errors.ts'

const { ASI_EDIT_RANGE, ASI_EDIT_INCOMPLETE, ASI_FILE_CHANGED, ASI_PATH_REFUSED, ASI_FILE_REFUSED } =
  assistantErrors.specs
const TIMEOUT_MS = 600_000

const line = (description: string) => t.optional(t.integer({ minimum: 1, description }))

export const inlineEdit = defineOperation({
  id: 'assistant.inlineEdit',
  summary: 'Rewrite lines of a file with the configured model',
  input: t.object({
    path: t.string({ minLength: 1, maxLength: 4_096, description: 'Text file, relative to the project.' }),
    instruction: t.string({ minLength: 1, maxLength: 16_384, description: 'What shall change.' }),
    start_line: line('First line to rewrite, from 1. Default: the first line.'),
    end_line: line('Last line to rewrite. Default: the last line.'),
    apply: t.boolean({ default: false, description: 'Write the file. Otherwise only the diff is returned.' }),
    agent_id: t.optional(
      t.integer({ minimum: 0, description: 'Agent that edits; it may write files that it locked.' })
    ),
    session_id: t.string({
      default: 'default',
      minLength: 1,
      maxLength: 2_048,
      description: 'Session that is charged.'
    })
  }),
  output: t.object({
    path: t.string(),
    start_line: t.integer(),
    end_line: t.integer(),
    replacement: t.string(),
    diff: t.string({ description: 'Unified diff; empty if nothing changed.' }),
    applied: t.boolean(),
    model_used: t.string(),
    tokens: t.integer()
  }),
  events: t.object({ type: t.enum(['text']), text: t.string() }),
  errors: { ASI_EDIT_RANGE, ASI_EDIT_INCOMPLETE, ASI_FILE_CHANGED, ASI_PATH_REFUSED, ASI_FILE_REFUSED },
  effect: 'write',
  timeoutMs: TIMEOUT_MS,
  expose: {
    http: { method: 'POST', path: '/api/assistant/edit' },
    mcp: {
      name: 'svc_inline_edit',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['workspace'],
      use: 'For a small change that the model of svc makes. A whole vox program: svc_generate_code; more files: svc_submit_task.'
    },
    rpc: true,
    cli: { command: 'edit', args: ['path', 'instruction'], view: { text: 'diff' } }
  }
})
