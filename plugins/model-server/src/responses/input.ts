import type { ChatMessage, ChatToolCall } from '@svc/contracts'
import { invalid } from '../body-reader.ts'
import { callArguments } from '../openai/messages.ts'
import { unsupported } from '../unsupported-fields.ts'
import type { Item } from './items.ts'

const ROLES: readonly unknown[] = ['system', 'developer', 'user', 'assistant']
const TEXT_PARTS: readonly unknown[] = ['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text']

/** Item with its place in the request, for errors. */
export interface PlacedItem {
  readonly item: Readonly<Record<string, unknown>>
  readonly field: string
}

/** Message of the assistant that is being joined from its items. */
interface Draft {
  content: string
  thinking: string
  readonly toolCalls: ChatToolCall[]
}

/**
 * Converts items to messages. Reasoning, text and calls that follow each other become one message of the assistant.
 * System messages at the beginning are joined, because most templates accept only one. Throws `MSV_REQUEST_INVALID` or
 * `MSV_UNSUPPORTED`, naming the item.
 */
export function messagesOf(items: readonly PlacedItem[], instructions: string | undefined): readonly ChatMessage[] {
  const messages: ChatMessage[] = instructions === undefined ? [] : [{ role: 'system', content: instructions }]
  const names = new Map<string, string>()
  let draft: Draft | null = null
  const flush = (): void => {
    if (draft === null) return
    const { content, thinking, toolCalls } = draft
    draft = null
    messages.push({
      role: 'assistant',
      content,
      ...(thinking === '' ? {} : { thinking }),
      ...(toolCalls.length === 0 ? {} : { toolCalls })
    })
  }
  const begin = (): Draft => {
    flush()
    draft = { content: '', thinking: '', toolCalls: [] }
    return draft
  }
  for (const { item, field } of items) {
    const current: Draft | null = draft
    switch (item.type ?? 'message') {
      case 'message': {
        const { role } = item
        if (!ROLES.includes(role))
          throw invalid(
            `'${field}.role' must be one of 'system', 'developer', 'user', 'assistant', got ${shown(role)}`,
            `${field}.role`
          )
        const content = textOf(item.content, `${field}.content`)
        if (role === 'assistant') {
          const target = current !== null && isThought(current) ? current : begin()
          target.content = content
        } else {
          flush()
          messages.push({ role: role === 'user' ? 'user' : 'system', content })
        }
        break
      }
      case 'reasoning':
        begin().thinking = thoughtOf(item, field)
        break
      case 'function_call': {
        const id = callId(item, field)
        const { name } = item
        if (typeof name !== 'string' || name === '')
          throw invalid(`'${field}.name' must be the name of a function, got ${shown(name)}`, `${field}.name`)
        const place = `${field}.arguments`
        if (typeof item.arguments !== 'string')
          throw invalid(`'${place}' must be the JSON text of an object, got ${shown(item.arguments)}`, place)
        names.set(id, name)
        const target = current ?? begin()
        target.toolCalls.push({ id, name, arguments: callArguments(item.arguments, place) })
        break
      }
      case 'function_call_output': {
        flush()
        const toolCallId = callId(item, field)
        const name = names.get(toolCallId)
        if (name === undefined) {
          throw invalid(
            `'${field}.call_id' is ${shown(toolCallId)}, but no earlier item is a call with this id`,
            `${field}.call_id`
          )
        }
        messages.push({ role: 'tool', content: textOf(item.output, `${field}.output`), toolCallId, name })
        break
      }
      default:
        throw unsupported(field, `items of type ${shown(item.type)} are not supported by this server`)
    }
  }
  flush()
  return withOneSystemMessage(messages)
}

function isThought({ content, toolCalls }: Draft): boolean {
  return content === '' && toolCalls.length === 0
}

function withOneSystemMessage(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const other = messages.findIndex(({ role }) => role !== 'system')
  const count = other < 0 ? messages.length : other
  if (count < 2) return messages
  const content = messages
    .slice(0, count)
    .map(each => each.content)
    .join('\n\n')
  return [{ role: 'system', content }, ...messages.slice(count)]
}

function callId(item: PlacedItem['item'], field: string): string {
  const { call_id: id } = item
  if (typeof id === 'string' && id !== '') return id
  throw invalid(`'${field}.call_id' must be the id of a call, got ${shown(id)}`, `${field}.call_id`)
}

function thoughtOf({ content, summary, encrypted_content: encrypted }: PlacedItem['item'], field: string): string {
  const text = textOf(content ?? [], `${field}.content`) || textOf(summary ?? [], `${field}.summary`)
  if (text === '' && typeof encrypted === 'string' && encrypted !== '') {
    throw unsupported(`${field}.encrypted_content`, 'this server can only read reasoning that it wrote, as text')
  }
  return text
}

function textOf(content: unknown, field: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content))
    throw invalid(`'${field}' must be a string or a list of content parts, got ${shown(content)}`, field)
  return content.map((part, at) => partText(part, `${field}[${at}]`)).join('')
}

function partText(part: unknown, field: string): string {
  const { type, text, refusal } = (part ?? {}) as { type?: unknown; text?: unknown; refusal?: unknown }
  if (type !== 'refusal' && !TEXT_PARTS.includes(type)) {
    throw unsupported(field, `parts of type ${shown(type)} are not supported by this server`)
  }
  const value = type === 'refusal' ? refusal : text
  if (typeof value === 'string') return value
  throw invalid(`'${field}.${type === 'refusal' ? 'refusal' : 'text'}' must be a string, got ${shown(value)}`, field)
}

/** Returns a value of a client for a message, shortened. */
function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'object') return value === null ? 'null' : Array.isArray(value) ? 'a list' : 'an object'
  return typeof value === 'string' ? `'${value.slice(0, 64)}'` : String(value)
}

/** Returns the items of an input as they are stored: with a type, and an id if the client gave none. */
export function storedItems(
  input: string | readonly object[],
  id: (type: string, index: number) => string
): readonly Item[] {
  const items =
    typeof input === 'string'
      ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
      : input
  return items.map((each, index) => {
    const { id: own, type, ...rest } = each as { id?: unknown; type?: unknown }
    const itemType = typeof type === 'string' ? type : 'message'
    const message = itemType === 'message' ? withParts(rest) : rest
    return { id: typeof own === 'string' && own !== '' ? own : id(itemType, index), type: itemType, ...message }
  })
}

/** Returns a message whose content is a list of parts. */
function withParts(message: { readonly role?: unknown; readonly content?: unknown }): object {
  const { role, content } = message
  if (typeof content !== 'string') return message
  return { ...message, content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: content }] }
}
