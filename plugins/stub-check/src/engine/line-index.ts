/** Line numbers of offsets in a text. */
export class LineIndex {
  readonly #text: string
  readonly #starts: readonly number[]

  constructor(text: string) {
    const starts = [0]
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
    this.#text = text
    this.#starts = starts
  }

  /** Line of an offset, from 1. */
  lineAt(offset: number): number {
    let low = 0
    let high = this.#starts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#starts[middle] as number) <= offset) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Offset of a line's first character. */
  startOf(line: number): number {
    return this.#starts[line - 1] ?? this.#text.length
  }

  /** A line without its line break. */
  line(line: number): string {
    const end = this.#starts[line]
    return this.#text.slice(this.startOf(line), end === undefined ? undefined : end - 1).replace(/\r$/, '')
  }
}
