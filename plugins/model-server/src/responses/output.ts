import type { AnswerEvent } from '../answer/answer.ts'
import { type LogprobEntry, logprobEntries } from '../token-logprobs.ts'
import { type Item, itemId } from './items.ts'
import { type ResponseEnd, usageOf } from './response.ts'

/** Event of a streamed response, without its sequence number. */
export type OutputEvent = { readonly type: `response.${string}` } & Readonly<Record<string, unknown>>

type ItemStatus = 'completed' | 'incomplete'

/** Item that is being generated, at the end of the output. */
interface OpenItem {
  readonly kind: 'message' | 'reasoning' | 'function_call'
  readonly id: string
  readonly index: number
  text: string
  readonly logprobs: LogprobEntry[]
  readonly call?: { readonly index: number; readonly id: string; readonly name: string }
}

/**
 * Turns an answer into the output items of a response, and the events of a stream. Each item begins after the one before
 * it has ended.
 */
export class ResponseOutput {
  readonly #responseId: string
  readonly #summary: boolean
  readonly #items: Item[] = []
  #open: OpenItem | null = null
  #end: ResponseEnd | null = null

  /** `summary`: whether thoughts are the summary of a reasoning item instead of its content. */
  constructor(responseId: string, summary: boolean) {
    this.#responseId = responseId
    this.#summary = summary
  }

  /** End of the response; null before the answer's last event. */
  get end(): ResponseEnd | null {
    return this.#end
  }

  /** Items that were generated before a failure. The last one may be incomplete. */
  *fail(): Generator<OutputEvent, readonly Item[]> {
    yield* this.#close('incomplete')
    return this.#items
  }

  *push(event: AnswerEvent): Generator<OutputEvent, void> {
    switch (event.type) {
      case 'thinking':
        return yield* this.#thought(event.text)
      case 'text':
        return yield* this.#text(event.text, logprobEntries(event) ?? [])
      case 'call': {
        yield* this.#close('completed')
        const { index, id, name } = event
        return yield* this.#begin('function_call', { index, id, name })
      }
      case 'arguments':
        return yield* this.#arguments(event.text)
      case 'called':
        return yield* this.#called(event)
      case 'done': {
        const status = event.finishReason === 'length' ? 'incomplete' : 'completed'
        if (this.#items.length === 0 && this.#open === null) yield* this.#begin('message')
        yield* this.#close(status)
        this.#end = { status, output: this.#items, usage: usageOf(event.usage, event.thinkingTokens) }
      }
    }
  }

  *#thought(text: string): Generator<OutputEvent, void> {
    if (this.#open?.kind !== 'reasoning') {
      yield* this.#close('completed')
      yield* this.#begin('reasoning')
    }
    const open = this.#open as OpenItem
    open.text += text
    yield this.#summary
      ? { type: 'response.reasoning_summary_text.delta', ...place(open), summary_index: 0, delta: text }
      : { type: 'response.reasoning_text.delta', ...place(open), content_index: 0, delta: text }
  }

  *#text(text: string, logprobs: readonly LogprobEntry[]): Generator<OutputEvent, void> {
    if (this.#open?.kind !== 'message') {
      yield* this.#close('completed')
      yield* this.#begin('message')
    }
    const open = this.#open as OpenItem
    open.text += text
    open.logprobs.push(...logprobs)
    yield { type: 'response.output_text.delta', ...place(open), content_index: 0, delta: text, logprobs }
  }

  *#arguments(text: string): Generator<OutputEvent, void> {
    const open = this.#open
    if (open?.kind !== 'function_call') return
    open.text += text
    yield { type: 'response.function_call_arguments.delta', ...place(open), delta: text }
  }

  *#called({ call, complete }: Extract<AnswerEvent, { type: 'called' }>): Generator<OutputEvent, void> {
    const open = this.#open
    if (open?.call?.index !== call.index) return
    open.text = call.arguments
    yield* this.#close(complete ? 'completed' : 'incomplete')
  }

  *#begin(kind: OpenItem['kind'], call?: OpenItem['call']): Generator<OutputEvent, void> {
    const index = this.#items.length
    const id = itemId(this.#responseId, kind, index, 'output')
    const open: OpenItem = { kind, id, index, text: '', logprobs: [], ...(call === undefined ? {} : { call }) }
    this.#open = open
    yield { type: 'response.output_item.added', output_index: index, item: this.#item(open, 'in_progress') }
    const part = this.#part(open)
    if (part !== null) yield { type: `response.${part.event}.added`, ...place(open), ...part.at, part: part.empty }
  }

  *#close(status: ItemStatus): Generator<OutputEvent, void> {
    const open = this.#open
    if (open === null) return
    this.#open = null
    const { text, logprobs, call } = open
    const part = this.#part(open)
    if (part === null) {
      const { name } = call as NonNullable<OpenItem['call']>
      yield { type: 'response.function_call_arguments.done', ...place(open), name, arguments: text }
    } else {
      const more = open.kind === 'message' ? { logprobs } : {}
      yield { type: `response.${part.text}.done`, ...place(open), ...part.at, text, ...more }
      yield { type: `response.${part.event}.done`, ...place(open), ...part.at, part: part.whole }
    }
    const item = this.#item(open, status)
    this.#items.push(item)
    yield { type: 'response.output_item.done', output_index: open.index, item }
  }

  /** Returns the part of an item that holds its text, in the forms of the events; null for a call. */
  #part({ kind, text, logprobs }: OpenItem) {
    if (kind === 'function_call') return null
    if (kind === 'message') {
      const whole = { type: 'output_text', text, annotations: [], logprobs: [...logprobs] }
      const empty = { ...whole, text: '', logprobs: [] }
      return { event: 'content_part', text: 'output_text', at: { content_index: 0 }, whole, empty }
    }
    if (this.#summary) {
      const whole = { type: 'summary_text', text }
      const at = { summary_index: 0 }
      return {
        event: 'reasoning_summary_part',
        text: 'reasoning_summary_text',
        at,
        whole,
        empty: { ...whole, text: '' }
      }
    }
    const whole = { type: 'reasoning_text', text }
    return {
      event: 'content_part',
      text: 'reasoning_text',
      at: { content_index: 0 },
      whole,
      empty: { ...whole, text: '' }
    }
  }

  #item(open: OpenItem, status: ItemStatus | 'in_progress'): Item {
    const { id, kind, text, call } = open
    if (call !== undefined) return { id, type: kind, status, call_id: call.id, name: call.name, arguments: text }
    const part = status === 'in_progress' ? [] : [this.#part(open)?.whole]
    if (kind === 'message') return { id, type: kind, status, role: 'assistant', content: part }
    return { id, type: kind, status, summary: this.#summary ? part : [], ...(this.#summary ? {} : { content: part }) }
  }
}

function place({ id, index }: OpenItem): { readonly item_id: string; readonly output_index: number } {
  return { item_id: id, output_index: index }
}
