/** Range of offsets; `end` is excluded. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** Part of a text, for rules that search parts. */
export interface Part {
  readonly text: string
  readonly offset: number
}

/** Characters of a string literal, with its quotes, from which its content is searched. */
const MIN_LITERAL = 8

/** Quoted text or code in a comment, which is only mentioned. */
const QUOTED = /"[^"\n]{0,200}"|`[^`\n]{0,200}`/g

/** Parts of a text by what they are. All views have the length and the line breaks of the text. */
export class SourceViews {
  readonly text: string
  readonly comments: readonly Range[]
  /** String literals with their quotes. Ordered, without overlaps. */
  readonly strings: readonly Range[]
  #code: string | undefined
  #source: string | undefined
  #commentLines: readonly Part[] | undefined
  #commentText: string | undefined
  #stringContents: readonly Part[] | undefined

  constructor(text: string, comments: readonly Range[], strings: readonly Range[]) {
    this.text = text
    this.comments = comments
    this.strings = strings
  }

  /** Code without comments and without the contents of strings. */
  get code(): string {
    this.#code ??= blanked(this.source, this.strings, 1)
    return this.#code
  }

  /** Code and strings without comments. */
  get source(): string {
    this.#source ??= blanked(this.text, this.comments, 0)
    return this.#source
  }

  /** Lines of comments, without quoted text. */
  get commentLines(): readonly Part[] {
    this.#commentLines ??= this.comments.flatMap(({ start, end }) => {
      let offset = start
      return this.text
        .slice(start, end)
        .split('\n')
        .map(line => {
          const found = { text: line.replace(QUOTED, ''), offset }
          offset += line.length + 1
          return found
        })
    })
    return this.#commentLines
  }

  /** All lines of comments, for a first search. */
  get commentText(): string {
    this.#commentText ??= this.commentLines.map(({ text }) => text).join('\n')
    return this.#commentText
  }

  /** Contents of string literals that are not very short, with a space in place of each character of the opening quotes. */
  get stringContents(): readonly Part[] {
    this.#stringContents ??= this.strings
      .filter(({ start, end }) => end - start >= MIN_LITERAL)
      .map(({ start, end }) => ({ text: contentOf(this.text.slice(start, end)), offset: start }))
    return this.#stringContents
  }

  /** True if the offset is inside a string literal. */
  inString(offset: number): boolean {
    return rangeAt(this.strings, offset) !== null
  }
}

/** Returns the range that contains an offset; null if there is none. `ranges` must be ordered and must not overlap. */
function rangeAt(ranges: readonly Range[], offset: number): Range | null {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ranges[middle] as Range).end <= offset) low = middle + 1
    else high = middle
  }
  const found = ranges[low]
  return found !== undefined && found.start <= offset ? found : null
}

/** Replaces ranges by spaces, except for `kept` characters at both ends, and keeps line breaks. */
function blanked(text: string, ranges: readonly Range[], kept: number): string {
  if (ranges.length === 0) return text
  let result = ''
  let done = 0
  for (const range of ranges) {
    const start = Math.min(range.start + kept, range.end)
    const end = Math.max(range.end - kept, start)
    if (end <= done) continue
    const from = Math.max(start, done)
    result += text.slice(done, from) + spaces(text.slice(from, end))
    done = end
  }
  return result + text.slice(done)
}

function spaces(text: string): string {
  return text.includes('\n') ? text.replace(/[^\n]/g, ' ') : ' '.repeat(text.length)
}

/** Replaces the quotes of a literal by spaces, so that offsets stay. */
function contentOf(literal: string): string {
  const [open = ''] = /^[a-z]{0,2}#{0,8}(?:"""|'''|"|'|`)/i.exec(literal) ?? []
  if (open === '') return literal
  const close = /(?:"""|'''|"|'|`)#{0,8}$/.exec(literal.slice(open.length))?.[0].length ?? 0
  return ' '.repeat(open.length) + literal.slice(open.length, literal.length - close)
}
