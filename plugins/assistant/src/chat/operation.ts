import { SEARCH_EVIDENCE_TIERS } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { assistantErrors } from '../errors.ts'

const { ASI_PROMPT_MISSING } = assistantErrors.specs
/** Time limit, sufficient for a long answer on a small machine. */
const TIMEOUT_MS = 900_000

const text = (description: string, maxLength = 262_144) => t.optional(t.string({ maxLength, description }))
const name = (description: string, maxLength = 2_048) => t.optional(t.string({ minLength: 1, maxLength, description }))
const files = (description: string) =>
  t.array(t.string({ minLength: 1, maxLength: 4_096 }), { default: [], maxItems: 100, description })

const historyEntry = t.object({
  id: t.string(),
  role: t.enum(['user', 'assistant', 'system', 'tool']),
  content: t.string(),
  timestamp: t.integer({ description: 'Unix seconds.' }),
  context_files: t.array(t.string()),
  model_used: t.optional(t.string()),
  tokens: t.optional(t.integer())
})

const qgate = t.object({
  risk_decision: t.enum(['Answer', 'Ask', 'Abstain']),
  confidence_estimate: t.number(),
  contradiction_ratio: t.number(),
  citation_coverage: t.number(),
  questioning: t.object({
    question_needed: t.boolean(),
    question_kind: t.nullable(t.string()),
    prompt: t.nullable(t.string()),
    expected_information_gain_bits: t.number(),
    expected_user_cost: t.number(),
    utility_bits_per_cost: t.number(),
    stop_reason: t.nullable(t.string())
  }),
  search_refinement: t.nullable(t.object({ missing_terms: t.array(t.string()), suggestion: t.string() }))
})

const retrieval = t.object({
  tier: t.enum(SEARCH_EVIDENCE_TIERS, {
    description: 'hybrid: words and vectors. bm25: ranked words. lexical_fallback: words without rank.'
  }),
  terms: t.array(t.string(), { description: 'Search terms.' }),
  quality: t.number({ description: 'Quality of the evidence, from 0 to 1.' }),
  complete: t.boolean({ description: 'False if a part of the search failed or took too long.' }),
  problem: t.nullable(t.string({ description: 'What failed, or why nothing was searched.' })),
  used: t.array(
    t.object({
      source: t.enum(['repository', 'documents', 'knowledge', 'memory']),
      ref: t.string(),
      line: t.nullable(t.integer()),
      score: t.number(),
      matched: t.array(t.string())
    }),
    { description: 'Passages in the prompt.' }
  ),
  context_files: t.array(t.object({ path: t.string(), truncated: t.boolean(), refused: t.nullable(t.string()) }), {
    description: 'Files that the caller named, with a reason for each omitted file.'
  }),
  characters_dropped: t.integer({ description: 'Characters of the material that did not fit.' })
})

export const chat = defineOperation({
  id: 'assistant.chat',
  summary: 'Ask the configured model about the project',
  input: t.object(
    {
      prompt: text('The message. Required unless message is set.'),
      message: text('Alias of prompt.'),
      context_files: files('Files of the project to include in the prompt.'),
      open_files: files('Files that are open in the editor; only their names are sent.'),
      active_file: name('File in the focus of the editor; the prompt includes the lines around active_line.', 4_096),
      active_line: t.optional(t.integer({ minimum: 1, description: 'Current line of active_file.' })),
      selected_text: text('Selected text in the editor.'),
      diagnostics: t.optional(
        t.union([t.string({ maxLength: 65_536 }), t.array(t.unknown(), { maxItems: 500 })], {
          description: 'Findings of a compiler or linter.'
        })
      ),
      session_id: t.string({
        default: 'default',
        minLength: 1,
        maxLength: 2_048,
        description: 'Session of the message.'
      }),
      thread_id: name('Thread within the session.'),
      journey_id: name('Journey of the message; generated if absent.'),
      trace_id: name('Trace of the request.', 256),
      correlation_id: name('Correlation id for the response.', 256),
      cognitive_profile: t.optional(
        t.enum(['fast', 'reasoning', 'creative'], {
          description:
            'Temperature 0.3, for creative 0.8; complexity 5, 9 and 7. Default: the configuration of the model.'
        })
      ),
      json_mode: t.boolean({ default: false, description: 'Whether the answer must be a JSON object.' }),
      temperature: t.optional(
        t.number({ minimum: 0, maximum: 2, description: 'Randomness of the answer; higher values vary more.' })
      ),
      top_p: t.optional(
        t.number({ minimum: 0, maximum: 1, description: 'Share of the most likely tokens to choose from.' })
      )
    },
    { additionalProperties: false }
  ),
  output: t.object({
    message: t.string({ description: 'The answer.' }),
    history: t.array(historyEntry, { description: 'The last 100 turns of the session, including these two.' }),
    model_used: t.string(),
    tokens: t.integer({ description: 'Tokens of prompt and answer together.' }),
    finish_reason: t.enum(['stop', 'length', 'tool-calls']),
    session_id: t.string(),
    journey_id: t.string(),
    retrieval,
    qgate
  }),
  events: t.string({ description: 'The next piece of the answer.' }),
  errors: { ASI_PROMPT_MISSING },
  effect: 'write',
  timeoutMs: TIMEOUT_MS,
  expose: {
    http: { method: 'POST', path: '/api/assistant/chat' },
    mcp: {
      name: 'svc_chat_message',
      title: 'Ask about the project',
      result: 'tool-result',
      meta: 'qgate',
      lane: 'ai',
      toolsets: ['default', 'chat'],
      use: 'For an explanation or an opinion: it reads the project and changes nothing. For work use svc_submit_task, for a plan svc_plan.'
    },
    rpc: true
  }
})
