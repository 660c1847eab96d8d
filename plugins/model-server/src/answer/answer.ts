import type { GenerateUsage, LoadedModel } from '@svc/contracts'
import type { Completion, CompletionEvent } from '../completions.ts'
import { SpecialMarks } from './special-marks.ts'
import { type ThinkingMarks, ThinkingReader } from './thinking-reader.ts'
import { type ToolCall, type ToolCallPiece, ToolCallReader } from './tool-call-reader.ts'
import type { ToolFormat } from './tool-format.ts'

type TextEvent = Extract<CompletionEvent, { type: 'text' }>

/** What an answer is made of, whatever the wire format. */
export type AnswerEvent =
  | { readonly type: 'text'; readonly text: string; readonly logprobs?: NonNullable<TextEvent['logprobs']> }
  | { readonly type: 'thinking'; readonly text: string }
  | Exclude<ToolCallPiece, { type: 'text' }>
  | AnswerEnd

export interface AnswerEnd {
  readonly type: 'done'
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
  readonly usage: GenerateUsage
  /** Tokens of what the model thought; among those of the completion. */
  readonly thinkingTokens: number
}

/** What to look for in an answer. */
export interface AnswerReading {
  /** `inside`: the prompt has begun the thought. */
  readonly thinking: { readonly marks: ThinkingMarks; readonly inside: boolean } | null
  readonly tools: {
    readonly format: ToolFormat
    readonly names: readonly string[]
    /** The prompt has begun a call. */
    readonly forced: boolean
    /** Whether one answer may hold several calls. */
    readonly several: boolean
  } | null
}

export const PLAIN: AnswerReading = { thinking: null, tools: null }

/** Parts an answer into thoughts, text and calls while it is written. */
export async function* readAnswer(
  completion: Completion,
  reading: AnswerReading,
  model: LoadedModel
): AsyncGenerator<AnswerEvent, void> {
  if (reading.thinking === null && reading.tools === null) {
    for await (const event of completion) yield event.type === 'done' ? { ...event, thinkingTokens: 0 } : event
    return
  }
  const reader = new AnswerReader(reading, model)
  for await (const event of completion) {
    const pieces = event.type === 'text' ? reader.push(event) : reader.finish(event)
    for (const piece of pieces) {
      yield piece
      if (piece.type === 'called' && reading.tools?.several === false) {
        reader.ignoreRest()
        completion.finish()
        break
      }
    }
  }
}

class AnswerReader {
  readonly #marks: SpecialMarks
  readonly #thinking: ThinkingReader | null
  readonly #tools: AnswerReading['tools']
  #toolCalls: ToolCallReader | undefined
  #length = 0
  #hasContent = false
  #thinkingTokens = 0
  /** Probabilities of tokens whose text has not been handed out, by where it ends. */
  #logprobs: { readonly end: number; readonly entries: NonNullable<TextEvent['logprobs']> }[] = []
  #called: ToolCall | undefined
  #brokenOff = false
  #ignoring = false

  constructor({ thinking, tools }: AnswerReading, model: LoadedModel) {
    const thinkingMarks = thinking === null ? [] : [thinking.marks.open, thinking.marks.close]
    this.#marks = new SpecialMarks(model, [...thinkingMarks, ...(tools?.format.opens ?? [])])
    this.#thinking = thinking === null ? null : new ThinkingReader(thinking.marks, thinking.inside)
    this.#tools = tools
  }

  push(event: TextEvent): AnswerEvent[] {
    if (this.#ignoring) return []
    const text = this.#marks.restore(event)
    this.#length += text.length
    if (event.logprobs !== undefined) this.#logprobs.push({ end: this.#length, entries: event.logprobs })
    const events = this.#thinking === null ? this.#content(text, 0) : this.#thoughts(this.#thinking.push(text))
    if (!this.#hasContent) this.#thinkingTokens += event.tokens.length
    return events
  }

  finish({ finishReason, usage }: Extract<CompletionEvent, { type: 'done' }>): AnswerEvent[] {
    const rest = this.#ignoring ? [] : [...this.#thoughts(this.#thinking?.finish() ?? []), ...this.#finishTools()]
    const calls = this.#called !== undefined && !this.#brokenOff && finishReason === 'stop'
    return [
      ...rest,
      {
        type: 'done',
        finishReason: calls ? 'tool_calls' : finishReason,
        usage,
        thinkingTokens: this.#thinking === null ? 0 : this.#thinkingTokens
      }
    ]
  }

  ignoreRest(): void {
    this.#ignoring = true
  }

  #thoughts(pieces: ReturnType<ThinkingReader['push']>): AnswerEvent[] {
    return pieces.flatMap(({ type, text, end }): AnswerEvent[] => {
      if (type === 'thinking') return [{ type, text }]
      return this.#content(text, end - text.length)
    })
  }

  #content(text: string, start: number): AnswerEvent[] {
    this.#hasContent = true
    if (this.#tools === null) return this.#text([{ type: 'text', text, end: start + text.length }])
    this.#toolCalls ??= new ToolCallReader({ ...this.#tools, offset: start })
    return this.#text(this.#toolCalls.push(text))
  }

  #finishTools(): AnswerEvent[] {
    return this.#toolCalls === undefined ? [] : this.#text(this.#toolCalls.finish())
  }

  #text(pieces: readonly ToolCallPiece[]): AnswerEvent[] {
    return pieces.map((piece): AnswerEvent => {
      if (piece.type === 'called') {
        this.#called = piece.call
        this.#brokenOff ||= !piece.complete
      }
      if (piece.type !== 'text') return piece
      const { text, end } = piece
      const logprobs = this.#takeLogprobs(end - text.length, end)
      return { type: 'text', text, ...(logprobs === undefined ? {} : { logprobs }) }
    })
  }

  /** Probabilities of the tokens that end within a part of the raw text; those before it belong to no text. */
  #takeLogprobs(start: number, end: number): TextEvent['logprobs'] {
    if (this.#logprobs.length === 0) return undefined
    const taken = this.#logprobs.filter(each => each.end > start && each.end <= end)
    this.#logprobs = this.#logprobs.filter(each => each.end > end)
    return taken.flatMap(each => each.entries)
  }
}
