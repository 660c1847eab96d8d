import { type Infer, t } from '@svc/plugin-sdk'
import { emptyList, never, only, type UnsupportedFields } from '../unsupported-fields.ts'

const MAX_MESSAGES = 100_000
const MAX_STOP_SEQUENCES = 64
const open = { additionalProperties: true }

const content = t.union([t.string(), t.array(t.object({ type: t.string() }, open))], {
  description: `a string or a list of blocks with a 'type'`
})

const tool = t.object(
  {
    type: t.optional(t.nullable(t.string(), { description: 'a string' })),
    name: t.optional(t.string({ minLength: 1 })),
    description: t.optional(t.nullable(t.string(), { description: 'a string' })),
    input_schema: t.optional(t.record(t.unknown(), { description: 'a JSON Schema' })),
    strict: t.optional(t.nullable(t.boolean(), { description: 'true or false' }))
  },
  open
)

/** Fields of a conversation, which `count_tokens` has too. */
export const conversationBody = {
  model: t.optional(t.string()),
  messages: t.array(t.object({ role: t.enum(['user', 'assistant', 'system']), content }, open), {
    minItems: 1,
    maxItems: MAX_MESSAGES
  }),
  system: t.optional(content),
  tools: t.optional(t.array(tool)),
  tool_choice: t.optional(
    t.object(
      {
        type: t.enum(['auto', 'any', 'tool', 'none']),
        name: t.optional(t.string()),
        disable_parallel_tool_use: t.optional(t.boolean())
      },
      open
    )
  ),
  thinking: t.optional(
    t.object(
      {
        type: t.enum(['enabled', 'disabled', 'adaptive']),
        budget_tokens: t.optional(t.integer({ minimum: 1 })),
        display: t.optional(t.nullable(t.string(), { description: `'summarized'` }))
      },
      open
    )
  ),
  output_config: t.optional(
    t.object(
      {
        effort: t.optional(t.nullable(t.string(), { description: 'a string' })),
        format: t.optional(t.nullable(t.object({ type: t.string() }, open), { description: `an object with a 'type'` }))
      },
      open
    )
  )
}

/** Body of `POST /v1/messages/count_tokens`. */
export const countBody = t.object(conversationBody, open)

/** Body of `POST /v1/messages`. Unknown fields are ignored. */
export const messagesBody = t.object(
  {
    ...conversationBody,
    max_tokens: t.optional(t.integer({ minimum: 1 })),
    stream: t.optional(t.boolean()),
    stop_sequences: t.optional(t.array(t.string({ minLength: 1 }), { maxItems: MAX_STOP_SEQUENCES })),
    temperature: t.optional(t.number({ minimum: 0, maximum: 2 })),
    top_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
    top_k: t.optional(t.integer({ minimum: 0 }))
  },
  open
)

export type ConversationBody = Infer<typeof countBody>
export type MessagesBody = Infer<typeof messagesBody>
export type BodyBlock = { readonly type: string; readonly [field: string]: unknown }

export const UNSUPPORTED: UnsupportedFields = {
  container: never,
  context_management: never,
  mcp_servers: emptyList,
  fallbacks: emptyList,
  speed: only('standard')
}
