import type { ChatMessage, ChatToolCall } from '@svc/contracts'
import { invalid } from '../body-reader.ts'
import { refuseUnsupported, unsupported } from '../unsupported-fields.ts'
import { type ChatBodyMessage, UNSUPPORTED_IN_MESSAGES } from './chat-body.ts'

/** Converts messages. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the field. */
export function chatMessages(messages: readonly ChatBodyMessage[]): readonly ChatMessage[] {
  const names = new Map(messages.flatMap(each => each.tool_calls ?? []).map(call => [call.id, call.function.name]))
  return messages.map((message, at) => toChatMessage(message, `messages[${at}]`, names))
}

function toChatMessage(message: ChatBodyMessage, field: string, names: ReadonlyMap<string, string>): ChatMessage {
  refuseUnsupported(message, UNSUPPORTED_IN_MESSAGES, field)
  const { tool_calls, tool_call_id, reasoning_content } = message
  const role = message.role === 'developer' ? 'system' : message.role
  const content = contentOf(message, field)
  if (role === 'assistant') {
    const thinking = reasoning_content ? { thinking: reasoning_content } : {}
    if (!tool_calls || tool_calls.length === 0) return { role, content, ...thinking }
    return {
      role,
      content,
      ...thinking,
      toolCalls: tool_calls.map((call, at) => toToolCall(call, `${field}.tool_calls[${at}]`))
    }
  }
  if (tool_calls && tool_calls.length > 0) {
    throw invalid(`'${field}.tool_calls' is only allowed for the role 'assistant'`, `${field}.tool_calls`)
  }
  if (role !== 'tool') return { role, content }
  if (!tool_call_id) throw invalid(`'${field}.tool_call_id' must be the id of a call`, `${field}.tool_call_id`)
  const name = names.get(tool_call_id) ?? message.name
  return { role, content, toolCallId: tool_call_id, ...(name ? { name } : {}) }
}

function contentOf({ role, content, refusal }: ChatBodyMessage, field: string): string {
  if (typeof content === 'string') return content
  if (content) return content.map((part, i) => partText(part, `${field}.content[${i}]`)).join('')
  if (role === 'assistant') return refusal ?? ''
  throw invalid(`'${field}.content' must be a string or a list of content parts, got nothing`, `${field}.content`)
}

function partText(part: { readonly type: string; readonly [field: string]: unknown }, field: string): string {
  const { type } = part
  if (type !== 'text' && type !== 'refusal') {
    throw unsupported(field, `parts of type '${type}' are not supported by this server`)
  }
  const text = part[type]
  if (typeof text !== 'string') throw invalid(`'${field}.${type}' must be a string`, `${field}.${type}`)
  return text
}

type BodyToolCall = NonNullable<ChatBodyMessage['tool_calls']>[number]

function toToolCall({ id, function: { name, arguments: text } }: BodyToolCall, field: string): ChatToolCall {
  return { id, name, arguments: callArguments(text, `${field}.function.arguments`) }
}

/** Parses the arguments of a call; `place`: path of the field. Throws `MSV_REQUEST_INVALID`. */
export function callArguments(text: string, place: string): ChatToolCall['arguments'] {
  const refusal = () =>
    invalid(`'${place}' must be the JSON text of an object, got ${JSON.stringify(text.slice(0, 40))}`, place)
  let value: unknown
  try {
    value = text === '' ? {} : JSON.parse(text)
  } catch {
    throw refusal()
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refusal()
  return value as ChatToolCall['arguments']
}
