import { randomBytes } from 'node:crypto'
import type { GenerateUsage } from '@svc/contracts'
import type { AnswerEnd, AnswerEvent } from '../answer/answer.ts'
import { type RequestContext, toWireError } from '../wire-error.ts'
import { anthropicError } from './error-shape.ts'

type Events = AsyncIterable<AnswerEvent>
type Block = { readonly type: 'text' | 'thinking' | 'tool_use' } & Readonly<Record<string, unknown>>

const ID_BYTES = 16
const NO_USAGE = { cache_creation: null, cache_creation_input_tokens: 0, server_tool_use: null }

/** Fields that a message and its first event share. */
export function messageHead(model: string) {
  return {
    id: `msg_${randomBytes(ID_BYTES).toString('hex')}`,
    type: 'message',
    role: 'assistant',
    model,
    container: null,
    stop_details: null
  }
}

export type MessageHead = ReturnType<typeof messageHead>

/** Resolves to the complete message. A call that is incomplete is returned as text, since its input is no object. */
export async function wholeMessage(head: MessageHead, events: Events): Promise<object> {
  const content: Block[] = []
  let open: { type: 'text' | 'thinking'; text: string } | null = null
  const close = (): void => {
    if (open?.type === 'text') content.push({ type: 'text', text: open.text, citations: null })
    else if (open !== null) content.push({ type: 'thinking', thinking: open.text, signature: '' })
    open = null
  }
  const write = (type: 'text' | 'thinking', text: string): void => {
    const current: typeof open = open
    if (current?.type === type) current.text += text
    else {
      close()
      open = { type, text }
    }
  }
  for await (const event of events) {
    switch (event.type) {
      case 'text':
      case 'thinking':
        write(event.type, event.text)
        break
      case 'called': {
        const { id, name } = event.call
        const input = event.complete ? objectOf(event.call.arguments) : undefined
        if (input === undefined) write('text', event.raw)
        else {
          close()
          content.push({ type: 'tool_use', id, name, input })
        }
        break
      }
      case 'done':
        close()
        return { ...head, content, ...endOf(event), usage: usageOf(event) }
    }
  }
  throw new Error('an answer ended without its final event')
}

/**
 * Yields the message as server-sent events. Blocks follow each other, and each begins and ends. An error after the start
 * is the last event. `promptTokens`: number of tokens of the prompt, which the first event contains.
 */
export async function* messageEvents(
  head: MessageHead,
  events: Events,
  promptTokens: number,
  context: RequestContext
): AsyncGenerator<string, void> {
  const usage = { ...NO_USAGE, input_tokens: promptTokens, cache_read_input_tokens: 0, output_tokens: 0 }
  yield sent({
    type: 'message_start',
    message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage }
  })
  try {
    let index = -1
    let open: Block['type'] | null = null
    const begin = function* (block: Block): Generator<string, void> {
      yield* end()
      open = block.type
      index += 1
      yield sent({ type: 'content_block_start', index, content_block: block })
    }
    const end = function* (): Generator<string, void> {
      if (open === null) return
      open = null
      yield sent({ type: 'content_block_stop', index })
    }
    const delta = (value: object): string => sent({ type: 'content_block_delta', index, delta: value })
    for await (const event of events) {
      switch (event.type) {
        case 'text':
          if (open !== 'text') yield* begin({ type: 'text', text: '', citations: null })
          yield delta({ type: 'text_delta', text: event.text })
          break
        case 'thinking':
          if (open !== 'thinking') yield* begin({ type: 'thinking', thinking: '', signature: '' })
          yield delta({ type: 'thinking_delta', thinking: event.text })
          break
        case 'call':
          yield* begin({ type: 'tool_use', id: event.id, name: event.name, input: {} })
          break
        case 'arguments':
          yield delta({ type: 'input_json_delta', partial_json: event.text })
          break
        case 'called':
          yield* end()
          break
        case 'done':
          yield* end()
          yield sent({
            type: 'message_delta',
            delta: { ...endOf(event), container: null, stop_details: null },
            usage: usageOf(event)
          })
          yield sent({ type: 'message_stop' })
      }
    }
  } catch (error) {
    yield sent(anthropicError(toWireError(error, context)))
  }
}

function sent(event: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const

function endOf({ finishReason, stopString }: AnswerEnd) {
  return {
    stop_reason: stopString === undefined ? STOP_REASONS[finishReason] : 'stop_sequence',
    stop_sequence: stopString ?? null
  }
}

function usageOf({ usage, thinkingTokens }: { usage: GenerateUsage; thinkingTokens: number }): object {
  return {
    ...NO_USAGE,
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.completionTokens,
    output_tokens_details: { thinking_tokens: thinkingTokens }
  }
}

function objectOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
