import { possibleMark } from './held-text.ts'

/** Marks around the thoughts of a model. */
export interface ThinkingMarks {
  readonly open: string
  readonly close: string
}

const KNOWN: readonly ThinkingMarks[] = [
  { open: '<think>', close: '</think>' },
  { open: '[THINK]', close: '[/THINK]' }
]

/** Returns the marks that a chat template contains; null if the model writes no thoughts. */
export function thinkingMarks(template: string): ThinkingMarks | null {
  return KNOWN.find(({ open, close }) => template.includes(open) || template.includes(close)) ?? null
}

/** Part of an answer; `end`: its end in the raw text. */
export interface ThinkingPiece {
  readonly type: 'thinking' | 'content'
  readonly text: string
  readonly end: number
}

/** Separates thoughts from the answer. Drops the marks and the white space around thoughts. */
export class ThinkingReader {
  readonly #marks: ThinkingMarks
  #state: 'before' | 'inside' | 'behind' | 'content'
  #buffer = ''
  /** Position of the buffer in the raw text. */
  #offset = 0
  #shown = false
  /** End of the thought in the raw text, including its mark; 0 if there was no thought. */
  closedAt: number | undefined

  /** `inside`: the prompt already ends with the mark that opens a thought. */
  constructor(marks: ThinkingMarks, inside: boolean) {
    this.#marks = marks
    this.#state = inside ? 'inside' : 'before'
  }

  push(text: string): ThinkingPiece[] {
    this.#buffer += text
    return this.#advance(false)
  }

  finish(): ThinkingPiece[] {
    return this.#advance(true)
  }

  #advance(final: boolean): ThinkingPiece[] {
    const pieces: ThinkingPiece[] = []
    if (this.#state === 'before') this.#findOpen(final)
    if (this.#state === 'inside') pieces.push(...this.#readThought(final))
    if (this.#state === 'behind') {
      this.#drop(this.#buffer.length - this.#buffer.trimStart().length)
      if (this.#buffer !== '') this.#state = 'content'
    }
    if (this.#state === 'content') pieces.push(...this.#take('content', this.#buffer.length))
    return pieces
  }

  #findOpen(final: boolean): void {
    const { open } = this.#marks
    const text = this.#buffer.trimStart()
    if (text.startsWith(open)) {
      this.#drop(this.#buffer.length - text.length + open.length)
      this.#state = 'inside'
    } else if (final || !open.startsWith(text)) {
      this.#state = 'content'
      this.closedAt = 0
    }
  }

  #readThought(final: boolean): ThinkingPiece[] {
    if (!this.#shown) {
      this.#drop(this.#buffer.length - this.#buffer.trimStart().length)
      if (this.#buffer === '') return []
    }
    const close = this.#buffer.indexOf(this.#marks.close)
    if (close < 0) {
      const possible = final ? 0 : possibleMark(this.#buffer, [this.#marks.close])
      return this.#take('thinking', this.#buffer.slice(0, this.#buffer.length - possible).trimEnd().length)
    }
    const pieces = this.#take('thinking', this.#buffer.slice(0, close).trimEnd().length)
    this.#drop(this.#buffer.indexOf(this.#marks.close) + this.#marks.close.length)
    this.#state = 'behind'
    this.closedAt = this.#offset
    return pieces
  }

  #take(type: ThinkingPiece['type'], length: number): ThinkingPiece[] {
    if (length === 0) return []
    const text = this.#buffer.slice(0, length)
    this.#shown = true
    this.#drop(length)
    return [{ type, text, end: this.#offset }]
  }

  #drop(length: number): void {
    this.#buffer = this.#buffer.slice(length)
    this.#offset += length
  }
}
