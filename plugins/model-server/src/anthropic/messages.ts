import type { ChatMessage, ChatToolCall } from '@svc/contracts'
import { invalid } from '../body-reader.ts'
import { unsupported } from '../unsupported-fields.ts'
import type { BodyBlock, ConversationBody } from './body.ts'

/**
 * Converts messages. Each result of a tool becomes a separate message. Throws `MSV_REQUEST_INVALID` or
 * `MSV_UNSUPPORTED`, naming the field.
 */
export function chatMessages({ system, messages }: ConversationBody): readonly ChatMessage[] {
  if (messages.at(-1)?.role === 'assistant') {
    const field = `messages[${messages.length - 1}]`
    throw unsupported(field, "the last message must not be the assistant's: this server cannot continue an answer")
  }
  const names = new Map<string, string>()
  const text = system === undefined ? '' : textOf(system, 'system')
  const first: ChatMessage[] = text === '' ? [] : [{ role: 'system', content: text }]
  return [
    ...first,
    ...messages.flatMap(({ role, content }, at): readonly ChatMessage[] => {
      const field = `messages[${at}].content`
      if (role === 'system' || typeof content === 'string') return [{ role, content: textOf(content, field) }]
      return role === 'assistant' ? [assistantMessage(content, field, names)] : userMessages(content, field, names)
    })
  ]
}

function assistantMessage(blocks: readonly BodyBlock[], field: string, names: Map<string, string>): ChatMessage {
  let content = ''
  let thinking = ''
  const toolCalls: ChatToolCall[] = []
  for (const [at, block] of blocks.entries()) {
    const place = `${field}[${at}]`
    switch (block.type) {
      case 'text':
        content += fieldOf(block, 'text', place)
        break
      case 'thinking':
        thinking += fieldOf(block, 'thinking', place)
        break
      case 'tool_use': {
        const { input } = block
        const id = fieldOf(block, 'id', place)
        const name = fieldOf(block, 'name', place)
        if (typeof input !== 'object' || input === null || Array.isArray(input)) {
          throw invalid(`'${place}.input' must be an object`, `${place}.input`)
        }
        names.set(id, name)
        toolCalls.push({ id, name, arguments: input as ChatToolCall['arguments'] })
        break
      }
      default:
        throw unsupported(place, `blocks of type '${block.type.slice(0, 64)}' are not supported here`)
    }
  }
  return {
    role: 'assistant',
    content,
    ...(thinking === '' ? {} : { thinking }),
    ...(toolCalls.length === 0 ? {} : { toolCalls })
  }
}

function userMessages(
  blocks: readonly BodyBlock[],
  field: string,
  names: ReadonlyMap<string, string>
): readonly ChatMessage[] {
  const messages: ChatMessage[] = []
  let text: string | null = null
  const flush = (): void => {
    if (text !== null) messages.push({ role: 'user', content: text })
    text = null
  }
  for (const [at, block] of blocks.entries()) {
    const place = `${field}[${at}]`
    if (block.type === 'text') {
      text = `${text ?? ''}${fieldOf(block, 'text', place)}`
      continue
    }
    if (block.type !== 'tool_result') {
      throw unsupported(place, `blocks of type '${block.type.slice(0, 64)}' are not supported here`)
    }
    flush()
    const toolCallId = fieldOf(block, 'tool_use_id', place)
    const name = names.get(toolCallId)
    if (name === undefined) {
      throw invalid(`'${place}.tool_use_id' must be the id of an earlier 'tool_use' block`, `${place}.tool_use_id`)
    }
    messages.push({ role: 'tool', content: textOf(block.content ?? '', `${place}.content`), toolCallId, name })
  }
  flush()
  return messages
}

/** Returns the text of a string or of text blocks. */
function textOf(content: unknown, field: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalid(`'${field}' must be a string or a list of blocks`, field)
  return content
    .map((block: Partial<BodyBlock> | null, at) => {
      const place = `${field}[${at}]`
      const type = String(block?.type ?? 'nothing').slice(0, 64)
      if (type !== 'text') throw unsupported(place, `blocks of type '${type}' are not supported here`)
      return fieldOf(block as BodyBlock, 'text', place)
    })
    .join('')
}

function fieldOf(block: BodyBlock, name: string, place: string): string {
  const value = block[name]
  if (typeof value === 'string') return value
  throw invalid(`'${place}.${name}' must be a string`, `${place}.${name}`)
}
