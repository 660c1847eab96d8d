import type { ChatMessage } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'
import { bodyReader, invalid } from '../body-reader.ts'
import type { CompletionRequest } from '../completions.ts'
import { emptyList, only, refuseUnsupported, type UnsupportedFields, unsupported } from '../unsupported-fields.ts'
import { readOptions } from './options.ts'

export interface OllamaRequest {
  readonly model: string | undefined
  readonly stream: boolean
  /** Null when there is nothing to answer: the request only wants the model to be loaded. */
  readonly completion: CompletionRequest | null
}

const MAX_TOP_LOGPROBS = 20
const open = { additionalProperties: true }

const common = {
  model: t.optional(t.string()),
  stream: t.optional(t.boolean()),
  options: t.optional(t.unknown()),
  logprobs: t.optional(t.boolean()),
  top_logprobs: t.optional(t.integer({ minimum: 0, maximum: MAX_TOP_LOGPROBS }))
}

const generateBody = t.object(
  { ...common, prompt: t.optional(t.string()), system: t.optional(t.string()), raw: t.optional(t.boolean()) },
  open
)

const chatBody = t.object(
  {
    ...common,
    messages: t.optional(
      t.array(
        t.object(
          {
            role: t.enum(['system', 'user', 'assistant', 'tool']),
            content: t.optional(t.nullable(t.string(), { description: 'a string' }))
          },
          open
        )
      )
    )
  },
  open
)

const UNSUPPORTED: UnsupportedFields = {
  format: only(''),
  tools: emptyList,
  images: emptyList,
  template: only(''),
  suffix: only(''),
  context: emptyList,
  think: only(false)
}

const UNSUPPORTED_IN_MESSAGES: UnsupportedFields = { images: emptyList, tool_calls: emptyList, thinking: only('') }

const readGenerateBody = bodyReader(generateBody)
const readChatBody = bodyReader(chatBody)

/** Reads the body of `POST /api/generate`. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the field. */
export function readGenerateRequest(raw: unknown): OllamaRequest {
  const body = readGenerateBody(raw)
  refuseUnsupported(body, UNSUPPORTED)
  const { prompt = '', system = '' } = body
  if (body.raw === true && system !== '') throw unsupported('system', 'a raw prompt takes no system message')
  const messages: ChatMessage[] = [{ role: 'user', content: prompt }]
  if (system !== '') messages.unshift({ role: 'system', content: system })
  const options = optionsOf(body)
  return {
    ...headOf(body),
    completion:
      prompt === ''
        ? null
        : { ...options, prompt: body.raw === true ? { kind: 'raw', text: prompt } : { kind: 'chat', messages } }
  }
}

/** Reads the body of `POST /api/chat`. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the field. */
export function readChatRequest(raw: unknown): OllamaRequest {
  const body = readChatBody(raw)
  refuseUnsupported(body, UNSUPPORTED)
  const messages = (body.messages ?? []).map((message, at): ChatMessage => {
    refuseUnsupported(message, UNSUPPORTED_IN_MESSAGES, `messages[${at}]`)
    return { role: message.role, content: message.content ?? '' }
  })
  const options = optionsOf(body)
  return {
    ...headOf(body),
    completion: messages.length === 0 ? null : { ...options, prompt: { kind: 'chat', messages } }
  }
}

type Common = Pick<Infer<typeof chatBody>, 'model' | 'stream' | 'options' | 'logprobs' | 'top_logprobs'>

/** An answer is streamed unless the request says otherwise. */
function headOf({ model, stream = true }: Common): Omit<OllamaRequest, 'completion'> {
  return { model, stream }
}

function optionsOf(body: Common): Omit<CompletionRequest, 'prompt'> {
  if (body.top_logprobs !== undefined && body.logprobs !== true) {
    throw invalid(`'top_logprobs' is only allowed when 'logprobs' is true`, 'top_logprobs')
  }
  return { ...readOptions(body.options), ...(body.logprobs === true ? { logprobs: body.top_logprobs ?? 0 } : {}) }
}
