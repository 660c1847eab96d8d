import { type Infer, t } from '@svc/plugin-sdk'
import { emptyList, never, only, type UnsupportedFields } from '../unsupported-fields.ts'

const MAX_STOP_STRINGS = 4
const MAX_TOP_LOGPROBS = 20
const open = { additionalProperties: true }
const stopString = t.string({ minLength: 1 })

const message = t.object(
  {
    role: t.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: t.optional(
      t.nullable(t.union([t.string(), t.array(t.object({ type: t.string() }, open))]), {
        description: 'a string or a list of content parts'
      })
    )
  },
  open
)

/** The body of `POST /v1/chat/completions`, as far as it is read. Fields that nobody knows are passed over. */
export const chatBody = t.object(
  {
    model: t.optional(t.string()),
    messages: t.array(message, { minItems: 1 }),
    stream: t.optional(t.boolean()),
    stream_options: t.optional(t.object({ include_usage: t.optional(t.boolean()) }, open)),
    max_tokens: t.optional(t.integer({ minimum: 1 })),
    max_completion_tokens: t.optional(t.integer({ minimum: 1 })),
    temperature: t.optional(t.number({ minimum: 0, maximum: 2 })),
    top_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
    presence_penalty: t.optional(t.number({ minimum: -2, maximum: 2 })),
    frequency_penalty: t.optional(t.number({ minimum: -2, maximum: 2 })),
    seed: t.optional(t.integer()),
    stop: t.optional(
      t.union([stopString, t.array(stopString, { maxItems: MAX_STOP_STRINGS })], {
        description: `a string or a list of up to ${MAX_STOP_STRINGS} strings, none of them empty`
      })
    ),
    logit_bias: t.optional(t.record(t.number({ minimum: -100, maximum: 100 }))),
    logprobs: t.optional(t.boolean()),
    top_logprobs: t.optional(t.integer({ minimum: 0, maximum: MAX_TOP_LOGPROBS })),
    n: t.optional(t.integer({ minimum: 1 })),
    // Not of the format, but what other servers of it understand.
    top_k: t.optional(t.integer({ minimum: -1 })),
    min_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
    repetition_penalty: t.optional(t.number({ exclusiveMinimum: 0 }))
  },
  open
)

export type ChatBody = Infer<typeof chatBody>
export type ChatBodyMessage = Infer<typeof message>

export const UNSUPPORTED: UnsupportedFields = {
  n: only(1),
  tools: emptyList,
  tool_choice: only('none', 'auto'),
  functions: emptyList,
  function_call: only('none', 'auto'),
  response_format: value => typeof value === 'object' && value !== null && 'type' in value && value.type === 'text',
  audio: never,
  modalities: value => Array.isArray(value) && value.every(only('text')),
  web_search_options: never,
  reasoning_effort: only('none'),
  verbosity: only('medium'),
  best_of: only(1),
  echo: only(false),
  suffix: only(''),
  grammar: only(''),
  json_schema: never,
  structured_outputs: never,
  guided_json: never,
  guided_regex: never,
  guided_choice: never,
  guided_grammar: never
}

export const UNSUPPORTED_IN_MESSAGES: UnsupportedFields = {
  tool_calls: emptyList,
  function_call: never,
  audio: never
}
