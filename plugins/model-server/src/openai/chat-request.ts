import { defined } from '@svc/plugin-sdk'
import { bodyReader, invalid } from '../body-reader.ts'
import type { ChatRequest } from '../chat-answer.ts'
import type { FieldConstraint } from '../completions.ts'
import type { Grammars } from '../grammars.ts'
import { refuseUnsupported } from '../unsupported-fields.ts'
import { type ChatBody, chatBody, UNSUPPORTED } from './chat-body.ts'
import { guidedConstraint } from './guided.ts'
import { chatMessages } from './messages.ts'
import { responseFormat } from './response-format.ts'
import { samplingOf } from './sampling.ts'
import { toolIntent } from './tool-choice.ts'

export interface OpenAiChatRequest {
  readonly model: string | undefined
  readonly stream: boolean
  readonly includeUsage: boolean
  /** One request per answer; `n` in total. */
  readonly choices: readonly [ChatRequest, ...ChatRequest[]]
}

const readBody = bodyReader(chatBody)

/**
 * Parses the body of `POST /v1/chat/completions`.
 * Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, both naming the field.
 */
export function readChatRequest(raw: unknown, grammars: Grammars): OpenAiChatRequest {
  const body = readBody(raw)
  refuseUnsupported(body, UNSUPPORTED)
  const { stream = false, stop, n = 1 } = body
  const maxTokens = body.max_completion_tokens ?? body.max_tokens
  if (body.stream_options !== undefined && !stream) {
    throw invalid(`'stream_options' is only allowed when 'stream' is true`, 'stream_options')
  }
  if (body.top_logprobs !== undefined && body.logprobs !== true) {
    throw invalid(`'top_logprobs' is only allowed when 'logprobs' is true`, 'top_logprobs')
  }
  const tools = toolIntent(body)
  const constraint = constraintOf(body, tools !== undefined, grammars)
  const intent = {
    messages: chatMessages(body.messages),
    ...thinkingOf(body),
    ...defined({ tools, constraint })
  }
  const choice = (index: number): ChatRequest => ({
    intent,
    options: {
      sampling: samplingOf(body, index),
      ...defined({ maxTokens }),
      ...(stop === undefined ? {} : { stop: [stop].flat() }),
      ...(body.logprobs === true ? { logprobs: body.top_logprobs ?? 0 } : {})
    }
  })
  return {
    model: body.model,
    stream,
    includeUsage: body.stream_options?.include_usage ?? false,
    choices: [choice(0), ...Array.from({ length: n - 1 }, (_, at) => choice(at + 1))]
  }
}

function constraintOf(body: ChatBody, hasTools: boolean, grammars: Grammars): FieldConstraint | undefined {
  const guided = guidedConstraint(body)
  if (guided !== undefined) return guided
  if (body.response_format !== undefined) return responseFormat(body.response_format, grammars)
  return hasTools ? undefined : grammars.byDefault()
}

/** Parses the effort. Templates only enable or disable thoughts, so all efforts except `none` are the same. */
function thinkingOf(body: ChatBody): { readonly thinkingField: string; readonly thinking?: boolean } {
  const switched = body.chat_template_kwargs?.enable_thinking
  if (switched !== undefined) return { thinkingField: 'chat_template_kwargs.enable_thinking', thinking: switched }
  const { reasoning_effort: effort } = body
  return { thinkingField: 'reasoning_effort', ...(effort === undefined ? {} : { thinking: effort !== 'none' }) }
}
