import { type Infer, t } from '@svc/plugin-sdk'
import { functionTool } from '../function-tools.ts'
import { emptyList, never, only, type UnsupportedFields } from '../unsupported-fields.ts'
import { UNSUPPORTED_EXTENSIONS } from './extensions.ts'
import { samplingFields } from './sampling.ts'

const MAX_TOP_LOGPROBS = 20
const MAX_CHOICES = 128
const open = { additionalProperties: true }

const toolCall = t.object(
  {
    id: t.string({ minLength: 1 }),
    type: t.optional(t.enum(['function'])),
    function: t.object({ name: t.string({ minLength: 1 }), arguments: t.string() }, open)
  },
  open
)

const message = t.object(
  {
    role: t.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: t.optional(
      t.nullable(t.union([t.string(), t.array(t.object({ type: t.string() }, open))]), {
        description: 'a string or a list of content parts'
      })
    ),
    name: t.optional(t.nullable(t.string(), { description: 'a string' })),
    tool_calls: t.optional(
      t.nullable(t.array(toolCall), { description: 'a list of calls with id, name and arguments' })
    ),
    tool_call_id: t.optional(t.nullable(t.string(), { description: 'a string' })),
    refusal: t.optional(t.nullable(t.string(), { description: 'a string' })),
    // Common extension of servers for thinking models.
    reasoning_content: t.optional(t.nullable(t.string(), { description: 'a string' }))
  },
  open
)

/** Fields of a conversation and its answer, without those of the transport. */
export const conversationFields = {
  ...samplingFields,
  model: t.optional(t.string()),
  messages: t.array(message, { minItems: 1, examples: [[{ role: 'user', content: 'Hello' }]] }),
  max_tokens: t.optional(t.integer({ minimum: 1 })),
  max_completion_tokens: t.optional(t.integer({ minimum: 1 })),
  logprobs: t.optional(t.boolean()),
  top_logprobs: t.optional(t.integer({ minimum: 0, maximum: MAX_TOP_LOGPROBS })),
  tools: t.optional(t.array(functionTool)),
  tool_choice: t.optional(
    t.union([t.enum(['none', 'auto', 'required']), t.object({ type: t.string() }, open)], {
      description: `'none', 'auto', 'required' or an object that names a function`
    })
  ),
  parallel_tool_calls: t.optional(t.boolean()),
  response_format: t.optional(t.object({ type: t.string() }, open)),
  reasoning_effort: t.optional(t.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])),
  // Common extension: arguments of the model's template.
  chat_template_kwargs: t.optional(
    t.object(
      { enable_thinking: t.optional(t.boolean()) },
      { description: `an object with 'enable_thinking' and nothing else` }
    )
  )
}

/** Body of `POST /v1/chat/completions`. Unknown fields are ignored. */
export const chatBody = t.object(
  {
    ...conversationFields,
    stream: t.optional(t.boolean()),
    stream_options: t.optional(t.object({ include_usage: t.optional(t.boolean()) }, open)),
    n: t.optional(t.integer({ minimum: 1, maximum: MAX_CHOICES }))
  },
  open
)

export type ChatBody = Infer<typeof chatBody>
export type ChatBodyMessage = Infer<typeof message>

export const UNSUPPORTED: UnsupportedFields = {
  ...UNSUPPORTED_EXTENSIONS,
  functions: emptyList,
  function_call: only('none', 'auto'),
  audio: never,
  modalities: value => Array.isArray(value) && value.every(only('text')),
  web_search_options: never,
  prediction: never,
  moderation: never,
  store: only(false),
  verbosity: only('medium'),
  best_of: only(1),
  echo: only(false),
  suffix: only('')
}

export const UNSUPPORTED_IN_MESSAGES: UnsupportedFields = { function_call: never, audio: never }
