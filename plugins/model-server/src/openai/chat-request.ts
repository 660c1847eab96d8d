import type { ChatMessage, SamplingOptions } from '@svc/contracts'
import { bodyReader, invalid } from '../body-reader.ts'
import type { CompletionRequest } from '../completions.ts'
import { refuseUnsupported, unsupported } from '../unsupported-fields.ts'
import { type ChatBody, type ChatBodyMessage, chatBody, UNSUPPORTED, UNSUPPORTED_IN_MESSAGES } from './chat-body.ts'

export interface ChatRequest {
  readonly model: string | undefined
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly completion: CompletionRequest
}

const readBody = bodyReader(chatBody)

/**
 * Reads the body of `POST /v1/chat/completions`.
 * Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, both naming the field.
 */
export function readChatRequest(raw: unknown): ChatRequest {
  const body = readBody(raw)
  refuseUnsupported(body, UNSUPPORTED)
  const { stream = false, stop } = body
  const maxTokens = body.max_completion_tokens ?? body.max_tokens
  if (body.stream_options !== undefined && !stream) {
    throw invalid(`'stream_options' is only allowed when 'stream' is true`, 'stream_options')
  }
  if (body.top_logprobs !== undefined && body.logprobs !== true) {
    throw invalid(`'top_logprobs' is only allowed when 'logprobs' is true`, 'top_logprobs')
  }
  return {
    model: body.model,
    stream,
    includeUsage: body.stream_options?.include_usage ?? false,
    completion: {
      prompt: { kind: 'chat', messages: body.messages.map(toChatMessage) },
      sampling: samplingOf(body),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(stop === undefined ? {} : { stop: [stop].flat() }),
      ...(body.logprobs === true ? { logprobs: body.top_logprobs ?? 0 } : {})
    }
  }
}

function samplingOf(body: ChatBody): SamplingOptions {
  const { temperature, top_p, top_k, min_p, presence_penalty, frequency_penalty, repetition_penalty, seed } = body
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { topP: top_p }),
    ...(top_k === undefined ? {} : { topK: Math.max(0, top_k) }),
    ...(min_p === undefined ? {} : { minP: min_p }),
    ...(presence_penalty === undefined ? {} : { presencePenalty: presence_penalty }),
    ...(frequency_penalty === undefined ? {} : { frequencyPenalty: frequency_penalty }),
    ...(repetition_penalty === undefined ? {} : { repeatPenalty: repetition_penalty }),
    ...(seed === undefined ? {} : { seed }),
    ...(body.logit_bias === undefined ? {} : { logitBias: logitBiasOf(body.logit_bias) })
  }
}

function logitBiasOf(bias: Readonly<Record<string, number>>): ReadonlyMap<number, number> {
  const pairs = Object.entries(bias).map(([token, value]): [number, number] => {
    if (!/^\d{1,9}$/.test(token)) throw invalid(`'logit_bias' has the key '${token}', not a token id`, 'logit_bias')
    return [Number(token), value]
  })
  return new Map(pairs)
}

function toChatMessage(message: ChatBodyMessage, at: number): ChatMessage {
  const field = `messages[${at}]`
  refuseUnsupported(message, UNSUPPORTED_IN_MESSAGES, field)
  const role = message.role === 'developer' ? 'system' : message.role
  const { content } = message
  if (typeof content === 'string') return { role, content }
  if (content) return { role, content: content.map((part, i) => partText(part, `${field}.content[${i}]`)).join('') }
  if (role === 'assistant') return { role, content: '' }
  throw invalid(`'${field}.content' must be a string or a list of content parts, got nothing`, `${field}.content`)
}

function partText(part: { readonly type: string; readonly text?: unknown }, field: string): string {
  if (part.type !== 'text') throw unsupported(field, `parts of type '${part.type}' are not supported by this server`)
  if (typeof part.text !== 'string') throw invalid(`'${field}.text' must be a string`, `${field}.text`)
  return part.text
}
