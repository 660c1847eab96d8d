import { CallObject } from './call-object.ts'
import { possibleMark } from './held-text.ts'
import type { ToolFormat } from './tool-format.ts'

/** A call that the model made; `arguments` is JSON text as the model wrote it. */
export interface ToolCall {
  readonly index: number
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export type ToolCallPiece =
  | { readonly type: 'text'; readonly text: string; readonly end: number }
  /** A call has begun; `start`: position of its JSON in the raw text. */
  | {
      readonly type: 'call'
      readonly index: number
      readonly id: string
      readonly name: string
      readonly start: number
    }
  /** More text of the arguments. */
  | { readonly type: 'arguments'; readonly index: number; readonly text: string }
  /** The call has ended; `complete` is false if the answer ended inside the call. `raw`: text of the whole call. */
  | { readonly type: 'called'; readonly call: ToolCall; readonly complete: boolean; readonly raw: string }

/** Form of newer Mistral models: `name[ARGS]{…}`. */
const NAMED_CALL = /^([\w.-]{1,64})(?:\[ARGS\])?(?=\{)/
const MAYBE_NAMED_CALL = /^[\w.-]{1,64}(\[A?R?G?S?\]?)?$/

interface OpenCall {
  readonly object: CallObject
  readonly index: number
  readonly start: number
  /** Id of the call; undefined until the call was announced. */
  id: string | undefined
  /** Number of characters of the arguments that were emitted. */
  sent: number
}

export interface ToolCallReaderOptions {
  readonly format: ToolFormat
  /** Names of the functions that may be called. */
  readonly names: readonly string[]
  /** Position of the text in the raw answer. */
  readonly offset: number
  /** True if the prefilled beginning of the answer has already opened a call. */
  readonly forced?: boolean
}

/**
 * Finds calls in an answer while it is generated. Text that only looks like a call is emitted as text, without loss.
 * White space around calls is dropped.
 *
 * A call is announced as soon as its name is known. Its arguments follow while they are generated.
 */
export class ToolCallReader {
  readonly #format: ToolFormat
  readonly #names: ReadonlySet<string>
  #state: 'text' | 'between' | 'call'
  #buffer = ''
  /** Position of the buffer in the raw text. */
  #offset: number
  /** Text taken from the buffer since the mark; emitted as text if there is no call. */
  #region = ''
  #call: OpenCall | undefined
  #calls = 0
  #inList = false
  /** True after the end of a call, while only white space followed. */
  #behindCall = false
  #textShown = false

  constructor({ format, names, offset, forced = false }: ToolCallReaderOptions) {
    this.#format = format
    this.#names = new Set(names)
    this.#offset = offset
    this.#state = forced ? 'between' : 'text'
  }

  push(text: string): ToolCallPiece[] {
    this.#buffer += text
    return this.#advance(false)
  }

  finish(): ToolCallPiece[] {
    return this.#advance(true)
  }

  /** Continues at `offset`, after the caller itself has consumed the rest of the last call. */
  resume(offset: number): void {
    this.#buffer = ''
    this.#region = ''
    this.#offset = offset
    this.#call = undefined
    this.#calls += 1
    this.#behindCall = true
    this.#state = 'between'
  }

  #advance(final: boolean): ToolCallPiece[] {
    const pieces: ToolCallPiece[] = []
    let state: string
    do {
      state = `${this.#state} ${this.#buffer.length}`
      if (this.#state === 'text') pieces.push(...this.#readText(final))
      else if (this.#state === 'between') pieces.push(...this.#readBetween(final))
      else pieces.push(...this.#readCall(final))
    } while (state !== `${this.#state} ${this.#buffer.length}`)
    return pieces
  }

  #readText(final: boolean): ToolCallPiece[] {
    const { opens } = this.#format
    const marks = opens.map(mark => [this.#buffer.indexOf(mark), mark.length] as const).filter(([at]) => at >= 0)
    const [at, length] = marks.sort(([a], [b]) => a - b)[0] ?? this.#bareCall()
    if (at >= 0) {
      const pieces = this.#textPiece(this.#buffer.slice(0, at).trimEnd().length)
      this.#region = this.#drop(this.#buffer.length - this.#buffer.trimStart().length + length)
      this.#state = 'between'
      this.#inList = false
      this.#behindCall = false
      return pieces
    }
    if (final) {
      const rest = this.#calls > 0 ? this.#buffer.trimEnd() : this.#buffer
      return this.#textPiece(rest.length)
    }
    const possible = possibleMark(this.#buffer, opens)
    return this.#textPiece(this.#buffer.slice(0, this.#buffer.length - possible).trimEnd().length)
  }

  /** Returns position and mark length of a call without a mark, which must begin the answer; position -1 if none. */
  #bareCall(): readonly [number, number] {
    const { name } = this.#format
    const begins = name === 'bare' && !this.#textShown && this.#buffer.trimStart().startsWith('{')
    return begins ? [this.#buffer.indexOf('{'), 0] : [-1, 0]
  }

  /** Reads text before a call, between two calls, or after the last call. */
  #readBetween(final: boolean): ToolCallPiece[] {
    const { name, close } = this.#format
    const separator = this.#separator.exec(this.#buffer)?.[0] ?? ''
    this.#region += this.#drop(separator.length)
    this.#inList ||= separator.endsWith('[')
    if (this.#buffer === '' && !final) return []
    if (close !== '' && this.#behindCall) {
      if (!final && close.startsWith(this.#buffer) && this.#buffer !== close) return []
      if (this.#buffer.startsWith(close)) this.#drop(close.length)
      return this.#leave()
    }
    if (this.#buffer.startsWith('{')) return this.#begin(new CallObject(), this.#offset)
    if (name === 'list' && !this.#inList && !this.#behindCall) {
      const start = this.#offset
      const [text, called] = NAMED_CALL.exec(this.#buffer) ?? []
      if (text !== undefined) {
        this.#region += this.#drop(text.length)
        return this.#begin(new CallObject(called), start)
      }
      if (!final && MAYBE_NAMED_CALL.test(this.#buffer)) return []
    }
    if (name === 'list' && this.#buffer.startsWith(']') && this.#behindCall) {
      this.#drop(1)
      return this.#leave()
    }
    return this.#behindCall ? this.#leave() : this.#asText()
  }

  /** Pattern of text that may precede a call without being part of it. */
  get #separator(): RegExp {
    const { name } = this.#format
    if (name === 'tagged') return /^\s+/
    if (name === 'bare') return /^[\s;]+/
    return this.#inList || this.#behindCall ? /^[\s,]+/ : /^\s*\[?/
  }

  #begin(object: CallObject, start: number): [] {
    this.#call = { object, index: this.#calls, start, id: undefined, sent: 0 }
    this.#state = 'call'
    return []
  }

  #readCall(final: boolean): ToolCallPiece[] {
    const open = this.#call as OpenCall
    const { object } = open
    let length = 0
    for (const character of this.#buffer) {
      if (object.state !== 'reading') break
      object.push(character)
      length += character.length
    }
    this.#region += this.#drop(length)
    const strange = object.name !== undefined && this.#format.name === 'bare' && !this.#names.has(object.name)
    const broken = object.state === 'broken' || strange
    if (open.id === undefined && (broken || (final && object.state === 'reading'))) return this.#asText()
    const pieces = this.#newPieces(open)
    if (object.state === 'reading' && !final) return pieces
    if (open.id !== undefined) pieces.push(this.#called(open, object.state === 'complete'))
    this.#call = undefined
    this.#calls += 1
    this.#region = ''
    this.#behindCall = true
    this.#state = broken ? 'text' : 'between'
    return pieces
  }

  /** Returns events for the parts of a call that are certain by now. */
  #newPieces(open: OpenCall): ToolCallPiece[] {
    const { object, index, start } = open
    if (object.name === undefined) return []
    const pieces: ToolCallPiece[] = []
    if (open.id === undefined) {
      open.id = this.#format.newId()
      pieces.push({ type: 'call', index, id: open.id, name: object.name, start })
    }
    const text = object.argumentsText?.slice(open.sent) ?? ''
    if (text !== '') pieces.push({ type: 'arguments', index, text })
    open.sent += text.length
    return pieces
  }

  #called({ object, index, id }: OpenCall, complete: boolean): ToolCallPiece {
    const call = { index, id: id as string, name: object.name as string, arguments: object.argumentsText ?? '' }
    return { type: 'called', call, complete, raw: object.raw }
  }

  #leave(): ToolCallPiece[] {
    this.#state = 'text'
    this.#region = ''
    return []
  }

  /** Returns text that looked like a call but is none. */
  #asText(): ToolCallPiece[] {
    const text = this.#region
    this.#call = undefined
    this.#textShown = true
    this.#leave()
    return text === '' ? [] : [{ type: 'text', text, end: this.#offset }]
  }

  #textPiece(length: number): ToolCallPiece[] {
    // Only white space follows the call: drop it.
    if (this.#calls > 0 && !this.#textShown) {
      const space = this.#buffer.length - this.#buffer.trimStart().length
      const before = Math.min(space, length)
      this.#drop(before)
      return this.#shown(length - before)
    }
    return this.#shown(length)
  }

  #shown(length: number): ToolCallPiece[] {
    if (length <= 0) return []
    const text = this.#drop(length)
    this.#textShown = true
    return [{ type: 'text', text, end: this.#offset }]
  }

  #drop(length: number): string {
    const text = this.#buffer.slice(0, length)
    this.#buffer = this.#buffer.slice(length)
    this.#offset += length
    return text
  }
}
