import type { ChatMessage, ChatToolCall } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'
import { emptyList, refuseUnsupported, type UnsupportedFields } from '../unsupported-fields.ts'

const open = { additionalProperties: true }
const text = t.optional(t.nullable(t.string(), { description: 'a string' }))

const toolCall = t.object(
  {
    id: text,
    function: t.object({ name: t.string({ minLength: 1 }), arguments: t.optional(t.record(t.unknown())) }, open)
  },
  open
)

export const ollamaMessage = t.object(
  {
    role: t.enum(['system', 'user', 'assistant', 'tool']),
    content: text,
    thinking: text,
    tool_calls: t.optional(t.nullable(t.array(toolCall), { description: 'a list of calls, each with a function' })),
    tool_name: text,
    tool_call_id: text
  },
  open
)

export type OllamaMessage = Infer<typeof ollamaMessage>

const UNSUPPORTED: UnsupportedFields = { images: emptyList }

/**
 * Adds ids to calls and their results: templates need them, and the Ollama format omits them. A result without an id
 * belongs to the first open call; if it has a name, to the first with that name. Throws `MSV_UNSUPPORTED`.
 */
export function ollamaMessages(messages: readonly OllamaMessage[]): readonly ChatMessage[] {
  const unanswered: ChatToolCall[] = []
  let calls = 0
  return messages.map((message, at): ChatMessage => {
    refuseUnsupported(message, UNSUPPORTED, `messages[${at}]`)
    const { role, thinking, tool_calls, tool_name, tool_call_id } = message
    const content = message.content ?? ''
    if (role === 'tool') {
      const isResultOf = (call: ChatToolCall) =>
        tool_call_id ? call.id === tool_call_id : !tool_name || call.name === tool_name
      const found = unanswered.findIndex(isResultOf)
      const call = found < 0 ? undefined : unanswered.splice(found, 1)[0]
      const id = call?.id ?? tool_call_id
      const name = tool_name || call?.name
      return { role, content, ...(id ? { toolCallId: id } : {}), ...(name ? { name } : {}) }
    }
    if (role !== 'assistant') return { role, content }
    const toolCalls = (tool_calls ?? []).map((call): ChatToolCall => {
      calls += 1
      return { id: call.id || callId(calls), name: call.function.name, arguments: call.function.arguments ?? {} }
    })
    unanswered.push(...toolCalls)
    return {
      role,
      content,
      ...(thinking ? { thinking } : {}),
      ...(toolCalls.length === 0 ? {} : { toolCalls })
    }
  })
}

/** Returns an id of nine letters and digits, which the strictest template requires. */
function callId(count: number): string {
  return `call${String(count).padStart(5, '0')}`
}
