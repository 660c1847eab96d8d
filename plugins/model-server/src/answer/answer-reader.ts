import type { LoadedModel } from '@svc/contracts'
import type { CompletionEvent, FieldConstraint } from '../completions.ts'
import type { AnswerEvent, Continuation } from './answer.ts'
import { SpecialMarks } from './special-marks.ts'
import { type ThinkingMarks, ThinkingReader } from './thinking-reader.ts'
import { type ToolCallPiece, ToolCallReader } from './tool-call-reader.ts'
import type { ToolFormat } from './tool-format.ts'

type TextEvent = Extract<CompletionEvent, { type: 'text' }>

/** Parts to recognise in an answer, and the constraints on them. */
export interface AnswerReading {
  /** `inside`: the prompt already ends with the mark that opens a thought. */
  readonly thinking: { readonly marks: ThinkingMarks; readonly inside: boolean } | null
  /** Constraint on the text after the thought. `prefill` is its beginning, which the model does not generate. */
  readonly afterThought?: { readonly prefill: string; readonly constraint: FieldConstraint }
  /** Constraint on text that the model writes instead of a call. */
  readonly textRule?: FieldConstraint
  readonly tools: {
    readonly format: ToolFormat
    readonly names: readonly string[]
    /** True if the answer after any thought is a call, whose beginning is prefilled. */
    readonly forced: boolean
    /** True if one answer may contain several calls. */
    readonly several: boolean
    /** Constraints on the arguments of strict functions, by function name. */
    readonly strict: ReadonlyMap<string, FieldConstraint>
  } | null
}

export const PLAIN: AnswerReading = { thinking: null, tools: null }

/** A call whose arguments are generated separately, under their schema. */
interface StrictCall {
  readonly index: number
  readonly id: string
  readonly name: string
  arguments: string
}

/** Turns the text of an answer into events, and reports where generation must pause. */
export class AnswerReader {
  readonly #reading: AnswerReading
  readonly #marks: SpecialMarks
  readonly #thinking: ThinkingReader | null
  #toolCalls: ToolCallReader | undefined
  /** The answer as the model sees it, with all marks. */
  #raw = ''
  #hasContent = false
  /** Log probabilities of tokens whose text was not emitted yet; `end`: end of that text in the raw answer. */
  #logprobs: { readonly end: number; readonly entries: NonNullable<TextEvent['logprobs']> }[] = []
  #strict: StrictCall | undefined
  #continuation: Continuation | undefined
  /** True once the rest of the answer is text under a constraint. */
  #bound = false
  #over = false
  #called = false
  #incomplete = false
  #thinkingTokens = 0
  #thought = false
  readonly #closeMark: string

  constructor(reading: AnswerReading, model: LoadedModel) {
    const { thinking, tools } = reading
    const thinkingMarks = thinking === null ? [] : [thinking.marks.open, thinking.marks.close]
    this.#reading = reading
    this.#marks = new SpecialMarks(model, [...thinkingMarks, ...(tools?.format.opens ?? [])])
    this.#closeMark = thinking === null ? '' : `\n${thinking.marks.close}`
    this.#thinking = thinking === null ? null : new ThinkingReader(thinking.marks, thinking.inside)
  }

  /** True if this part must end: the answer is complete, or continues under another constraint. */
  get pausing(): boolean {
    return this.#over || this.#continuation !== undefined
  }

  /** True if there are calls, and all of them are complete. */
  get calledWhole(): boolean {
    return this.#called && !this.#incomplete
  }

  get thinkingTokens(): number {
    return this.#thought ? this.#thinkingTokens : 0
  }

  push(event: TextEvent): AnswerEvent[] {
    if (this.#strict !== undefined) return this.#pushArguments(event.text, this.#strict)
    const text = this.#marks.restore(event)
    this.#raw += text
    if (event.logprobs !== undefined) this.#logprobs.push({ end: this.#raw.length, entries: event.logprobs })
    const inThought = this.#thinking !== null && !this.#hasContent
    const events = inThought ? this.#thoughts(this.#thinking.push(text)) : this.#content(text)
    if (!this.#hasContent) this.#thinkingTokens += event.tokens.length
    return events
  }

  /** Returns the last events of a part, and the continuation if the answer continues. */
  endPart(finishReason: 'stop' | 'length'): { readonly events: AnswerEvent[]; readonly continuation?: Continuation } {
    const continuation = this.#takeContinuation()
    if (continuation !== undefined) return { events: [], continuation }
    if (this.#over) return { events: [] }
    if (this.#strict !== undefined) return this.#endArguments(this.#strict, finishReason === 'stop')
    const thoughts = this.#hasContent ? [] : this.#thoughts(this.#thinking?.finish() ?? [])
    // The model ended its turn inside a thought: close the thought, and generate the answer.
    if (finishReason === 'stop' && !this.#hasContent) this.#answerAfter(`${this.#raw}${this.#closeMark}`)
    const pieces = this.#bound ? [] : (this.#toolCalls?.finish() ?? [])
    const events = [...thoughts, ...this.#events(pieces)]
    if (finishReason === 'stop' && !this.#called) {
      if (!this.#hasContent && this.#thinking?.closedAt === undefined) this.#raw += this.#closeMark
      this.#beginBoundText(this.#raw.length)
    }
    const following = this.#takeContinuation()
    return following === undefined ? { events } : { events, continuation: following }
  }

  #thoughts(pieces: ReturnType<ThinkingReader['push']>): AnswerEvent[] {
    const { afterThought } = this.#reading
    const events: AnswerEvent[] = []
    for (const { type, text, end } of pieces) {
      if (type === 'thinking') {
        this.#thought = true
        events.push({ type, text })
      } else if (afterThought === undefined) events.push(...this.#content(text, end - text.length))
    }
    const closedAt = this.#thinking?.closedAt
    if (closedAt !== undefined) this.#answerAfter(this.#raw.slice(0, closedAt))
    return events
  }

  /** Requests a continuation after the thought, if that has a constraint. */
  #answerAfter(thought: string): void {
    const { afterThought } = this.#reading
    if (afterThought === undefined) return
    const { prefill, constraint } = afterThought
    this.#raw = thought === '' ? prefill : `${thought}\n\n${prefill}`
    this.#logprobs = []
    this.#hasContent = true
    this.#continuation = { raw: this.#raw, constraint }
  }

  #takeContinuation(): Continuation | undefined {
    const continuation = this.#continuation
    this.#continuation = undefined
    return continuation
  }

  /** Emits text. `start`: position of the text in the raw answer. */
  #content(text: string, start = this.#raw.length - text.length): AnswerEvent[] {
    this.#hasContent = true
    const { tools } = this.#reading
    if (tools === null || this.#bound) return this.#events([{ type: 'text', text, end: start + text.length }])
    this.#toolCalls ??= new ToolCallReader({ ...tools, offset: start })
    return this.#events(this.#toolCalls.push(text))
  }

  #events(pieces: readonly ToolCallPiece[]): AnswerEvent[] {
    const events: AnswerEvent[] = []
    for (const piece of pieces) {
      if (this.pausing) break
      if (piece.type === 'text') {
        const { text, end } = piece
        if (this.#beginBoundText(end - text.length)) break
        const logprobs = this.#takeLogprobs(end - text.length, end)
        events.push({ type: 'text', text, ...(logprobs === undefined ? {} : { logprobs }) })
        continue
      }
      events.push(piece)
      if (piece.type === 'call') this.#beginCall(piece)
      else if (piece.type === 'called') this.#endCall(piece.complete)
    }
    return events
  }

  /** Generates the text again under its constraint if there is one and no call was made. Returns true if so. */
  #beginBoundText(start: number): boolean {
    const { textRule } = this.#reading
    if (textRule === undefined || this.#bound || this.#called || this.#continuation !== undefined) return false
    this.#bound = true
    this.#raw = this.#raw.slice(0, start)
    this.#logprobs = []
    this.#continuation = { raw: this.#raw, constraint: textRule }
    return true
  }

  #beginCall({ index, id, name, start }: Extract<ToolCallPiece, { type: 'call' }>): void {
    const { tools } = this.#reading
    const constraint = tools?.strict.get(name)
    if (tools === null || tools.forced || constraint === undefined) return
    // Everything up to the arguments is prefilled, so the model generates only the arguments.
    const beginning = `{"name": ${JSON.stringify(name)}, "${tools.format.argumentsField}": `
    this.#raw = this.#raw.slice(0, start) + beginning
    this.#strict = { index, id, name, arguments: '' }
    this.#continuation = { raw: this.#raw, constraint }
  }

  #endCall(complete: boolean): void {
    this.#called = true
    this.#incomplete ||= !complete
    if (this.#reading.tools?.several === false) this.#over = true
  }

  #pushArguments(text: string, call: StrictCall): AnswerEvent[] {
    call.arguments += text
    return [{ type: 'arguments', index: call.index, text }]
  }

  #endArguments(
    { index, id, name, arguments: text }: StrictCall,
    complete: boolean
  ): { readonly events: AnswerEvent[]; readonly continuation?: Continuation } {
    const raw = `${this.#raw}${text}}`
    const call = { index, id, name, arguments: text }
    const events: AnswerEvent[] = [{ type: 'called', call, complete, raw }]
    this.#strict = undefined
    this.#endCall(complete)
    if (this.#over || !complete) return { events }
    this.#raw = raw
    this.#toolCalls?.resume(raw.length)
    return { events, continuation: { raw } }
  }

  /** Removes and returns the log probabilities of tokens that end in this range of the raw text. Drops earlier ones. */
  #takeLogprobs(start: number, end: number): TextEvent['logprobs'] {
    if (this.#logprobs.length === 0) return undefined
    const inRange = this.#logprobs.filter(each => each.end > start && each.end <= end)
    this.#logprobs = this.#logprobs.filter(each => each.end > end)
    return inRange.flatMap(each => each.entries)
  }
}
