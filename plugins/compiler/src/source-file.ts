import type { Span } from './syntax/node.ts'

/** One-based line and column, for display; columns count characters. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** A source file: its path and text, and conversions of its offsets. */
export class SourceFile {
  readonly path: string
  readonly text: string
  #lineStarts: number[] | null = null
  #lineBytes: number[] | null = null

  constructor(path: string, text: string) {
    this.path = path
    this.text = text
  }

  position(offset: number): Position {
    const line = this.#lineOf(offset)
    const start = this.lineStart(line)
    return { line, column: characters(this.text, start, offset) + 1 }
  }

  /** Returns the offset where a line begins; lines count from 1. */
  lineStart(line: number): number {
    return this.#starts()[line - 1] ?? this.text.length
  }

  /** Returns the text of a line without its line break. */
  lineText(line: number): string {
    const start = this.lineStart(line)
    let end = this.lineStart(line + 1)
    while (end > start && /[\r\n]/.test(this.text[end - 1] as string)) end--
    return this.text.slice(start, end)
  }

  /** Converts an offset to an offset into the UTF-8 text. */
  byteOffset(offset: number): number {
    const line = this.#lineOf(offset)
    const start = this.lineStart(line)
    return (this.#bytes()[line - 1] ?? 0) + Buffer.byteLength(this.text.slice(start, offset))
  }

  byteSpan({ start, end }: Span): Span {
    return { start: this.byteOffset(start), end: this.byteOffset(end) }
  }

  #lineOf(offset: number): number {
    const starts = this.#starts()
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] as number) <= offset) low = middle + 1
      else high = middle
    }
    return low
  }

  #starts(): readonly number[] {
    if (this.#lineStarts !== null) return this.#lineStarts
    const { text } = this
    const starts = [0]
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === 10 || (code === 13 && text.charCodeAt(at + 1) !== 10)) starts.push(at + 1)
    }
    this.#lineStarts = starts
    return starts
  }

  #bytes(): readonly number[] {
    if (this.#lineBytes !== null) return this.#lineBytes
    const starts = this.#starts()
    let total = 0
    this.#lineBytes = starts.map((start, index) => {
      const before = total
      total += Buffer.byteLength(this.text.slice(start, starts[index + 1] ?? this.text.length))
      return before
    })
    return this.#lineBytes
  }
}

/** Counts the characters between two offsets; a surrogate pair counts as one. */
function characters(text: string, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) {
    const isSecondHalf = at > start && (text.charCodeAt(at) & 0xfc00) === 0xdc00
    if (!isSecondHalf) count++
  }
  return count
}
