import { defineOperation, t } from '@svc/plugin-sdk'
import { assistantErrors } from '../errors.ts'

const { ASI_CODE_INVALID, ASI_COMPILER_MISSING, ASI_PATH_REFUSED, ASI_FILE_REFUSED } = assistantErrors.specs
/** Time limit, sufficient for six answers on a small machine. */
const TIMEOUT_MS = 1_800_000

const name = (description: string, maxLength = 2_048) => t.optional(t.string({ minLength: 1, maxLength, description }))

export const fileOutcomes = t.object({
  schema: t.enum(['svc_generate_code_file_outcomes_v1']),
  schema_version: t.enum([1]),
  written_paths: t.array(t.string()),
  bytes_written: t.integer(),
  artifact_kind: t.enum(['svc_generated'])
})

const generateInput = t.object(
  {
    prompt: t.string({ minLength: 1, maxLength: 262_144, description: 'What the program should do.' }),
    validate: t.boolean({ default: true, description: 'Whether the program must compile.' }),
    max_retries: t.integer({
      default: 2,
      minimum: 0,
      maximum: 5,
      description: 'Maximum retries with the diagnostics of the compiler.'
    }),
    session_id: t.string({
      default: 'default',
      minLength: 1,
      maxLength: 2_048,
      description: 'Session to which the exchange belongs.'
    }),
    journey_id: name('Journey of the request; generated if absent.'),
    output_surface_mode: t.enum(['raw_code_only', 'fenced_transport'], {
      default: 'raw_code_only',
      description: 'Whether `code` is only the program, or a Markdown block. Files always have only the program.'
    }),
    output_path: name('Source file in the project to write, *.vox.', 4_096),
    vcs_agent_id: t.optional(t.integer({ minimum: 0, description: 'Agent that the file is attributed to.' }))
  },
  { additionalProperties: false }
)

export const generateCode = defineOperation({
  id: 'assistant.generate',
  summary: 'Generate a program with the configured model, checked and repaired',
  input: generateInput,
  output: t.object({
    code: t.string(),
    output_surface_mode: t.enum(['raw_code_only', 'fenced_transport']),
    valid: t.nullable(t.boolean(), { description: 'Whether the program compiles; null if it was not checked.' }),
    warnings: t.string({ description: 'Diagnostics of the compiler for a valid program.' }),
    attempts: t.integer(),
    model_used: t.string(),
    tokens: t.integer({ description: 'Tokens of all prompts and answers together.' }),
    session_id: t.string(),
    journey_id: t.string(),
    meta: t.object({
      grammar_mask: t.object({
        requested: t.boolean(),
        applied: t.boolean(),
        reason: t.nullable(t.string({ description: 'Why the grammar was not applied.' }))
      }),
      vcs_agent_id: t.nullable(t.integer()),
      file_outcomes: t.optional(fileOutcomes)
    })
  }),
  events: t.union([
    t.object({ type: t.enum(['text']), text: t.string() }),
    t.object({ type: t.enum(['attempt']), attempt: t.integer(), of: t.integer() }),
    t.object({ type: t.enum(['diagnostics']), attempt: t.integer(), report: t.string() })
  ]),
  errors: { ASI_CODE_INVALID, ASI_COMPILER_MISSING, ASI_PATH_REFUSED, ASI_FILE_REFUSED },
  effect: 'write',
  timeoutMs: TIMEOUT_MS,
  expose: {
    http: { method: 'POST', path: '/api/assistant/generate' },
    mcp: {
      name: 'svc_generate_code',
      title: 'Write a program',
      result: 'tool-result',
      meta: 'meta',
      lane: 'ai',
      toolsets: ['chat'],
      use: 'Writes vox source that compiles. For prose use svc_generate_text, for questions svc_chat_message.'
    },
    rpc: true
  }
})
