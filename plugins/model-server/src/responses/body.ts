import { type Infer, t } from '@svc/plugin-sdk'
import { UNSUPPORTED_EXTENSIONS, UNSUPPORTED_GUIDES } from '../openai/extensions.ts'
import { samplingFields } from '../openai/sampling.ts'
import { emptyList, never, only, type UnsupportedFields } from '../unsupported-fields.ts'

const MAX_TOP_LOGPROBS = 20
const MAX_ITEMS = 10_000
const open = { additionalProperties: true }

const functionTool = t.object(
  {
    type: t.string(),
    name: t.optional(t.nullable(t.string({ minLength: 1 }), { description: 'a string that is not empty' })),
    description: t.optional(t.nullable(t.string(), { description: 'a string' })),
    parameters: t.optional(t.nullable(t.record(t.unknown()), { description: 'a JSON Schema' })),
    strict: t.optional(t.nullable(t.boolean(), { description: 'true or false' }))
  },
  open
)

const nullableEnum = <const A extends readonly [string, ...string[]]>(values: A) =>
  t.optional(t.nullable(t.enum(values), { description: `one of ${values.map(each => `'${each}'`).join(', ')}` }))

/** Body of `POST /v1/responses`. Unknown fields are ignored. */
export const responsesBody = t.object(
  {
    ...samplingFields,
    model: t.optional(t.string()),
    input: t.union([t.string(), t.array(t.object({}, open), { minItems: 1, maxItems: MAX_ITEMS })], {
      description: `a string or a list of 1 to ${MAX_ITEMS} items`,
      examples: ['Hello']
    }),
    instructions: t.optional(t.string()),
    previous_response_id: t.optional(t.string({ minLength: 1 })),
    store: t.optional(t.boolean()),
    stream: t.optional(t.boolean()),
    stream_options: t.optional(t.object({}, open)),
    max_output_tokens: t.optional(t.integer({ minimum: 1 })),
    top_logprobs: t.optional(t.integer({ minimum: 0, maximum: MAX_TOP_LOGPROBS })),
    include: t.optional(t.array(t.string())),
    tools: t.optional(t.array(functionTool)),
    tool_choice: t.optional(
      t.union([t.enum(['none', 'auto', 'required']), t.object({ type: t.string() }, open)], {
        description: `'none', 'auto', 'required' or an object that names a function`
      })
    ),
    parallel_tool_calls: t.optional(t.boolean()),
    text: t.optional(
      t.object(
        {
          format: t.optional(
            t.nullable(t.object({ type: t.string() }, open), { description: `an object with a 'type'` })
          ),
          verbosity: t.optional(t.unknown())
        },
        open
      )
    ),
    reasoning: t.optional(
      t.object(
        {
          effort: nullableEnum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']),
          summary: nullableEnum(['auto', 'concise', 'detailed'])
        },
        open
      )
    ),
    metadata: t.optional(t.record(t.string())),
    truncation: t.optional(t.enum(['auto', 'disabled'])),
    user: t.optional(t.string())
  },
  open
)

export type ResponsesBody = Infer<typeof responsesBody>

export const UNSUPPORTED: UnsupportedFields = {
  ...UNSUPPORTED_EXTENSIONS,
  ...UNSUPPORTED_GUIDES,
  background: only(false),
  conversation: never,
  prompt: never,
  context_management: emptyList,
  moderation: never,
  n: only(1)
}

/** Values of `include` for tools and parts that this server never returns. They have no effect. */
const WITHOUT_EFFECT: readonly string[] = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  // Reasoning items contain their text.
  'reasoning.encrypted_content'
]
export const INCLUDE_LOGPROBS = 'message.output_text.logprobs'
export const INCLUDABLE: readonly string[] = [INCLUDE_LOGPROBS, ...WITHOUT_EFFECT]
