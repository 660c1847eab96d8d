/** Part of a text in the index. */
export interface Chunk {
  readonly text: string
  /** First line, from 1; null for texts without lines of their source. */
  readonly line: number | null
  /** Headings above the part, outermost first, joined by ` > `; empty without headings. */
  readonly heading: string
  /** Page of the document, from 1; missing for documents without pages. */
  readonly page?: number
}

/** Characters of a chunk, unless a line is longer. */
const CHUNK_CHARS = 1_600
/** Characters at the end of a chunk that are repeated in the next one, in whole lines. */
const OVERLAP_CHARS = 200
/** Longer lines are split. */
const MAX_LINE_CHARS = 3_200
const MAX_HEADING_CHARS = 300

interface Line {
  readonly text: string
  readonly number: number
}

/** Splits a text into chunks of whole lines, which overlap. Blank chunks are omitted. */
export function chunkLines(text: string): Chunk[] {
  return packed(linesOf(text), '')
}

/**
 * Splits Markdown at its headings. Sections that follow each other share a chunk while they fit; longer ones are split
 * by lines.
 */
export function chunkMarkdown(text: string): Chunk[] {
  const chunks: Chunk[] = []
  let held: { lines: Line[]; heading: string; size: number } | null = null
  const flush = (): void => {
    if (held !== null) chunks.push(...packed(held.lines, held.heading))
    held = null
  }
  for (const { lines, heading } of sections(text)) {
    const size = lines.reduce((sum, line) => sum + line.text.length + 1, 0)
    if (held !== null && held.size + size > CHUNK_CHARS) flush()
    if (held === null) held = { lines: [], heading, size: 0 }
    // A section may have more lines than a call has arguments.
    for (const line of lines) held.lines.push(line)
    held.size += size
  }
  flush()
  return chunks
}

/** Returns the first heading of a Markdown text; null if it has none. */
export function markdownTitle(text: string): string | null {
  for (const { heading } of sections(text.slice(0, 65_536))) {
    const last = heading.split(' > ').at(-1)
    if (last !== undefined && last !== '') return last
  }
  return null
}

function* sections(text: string): Generator<{ readonly lines: Line[]; readonly heading: string }> {
  const path: { readonly level: number; readonly title: string }[] = []
  let lines: Line[] = []
  let fence: string | null = null
  const headingPath = (): string => cut(path.map(({ title }) => title).join(' > '), MAX_HEADING_CHARS)
  let heading = ''
  for (const line of linesOf(text)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line.text)?.[1]
    if (mark !== undefined) {
      if (fence === null) fence = mark
      else if (mark.startsWith(fence)) fence = null
    }
    const found = fence === null && mark === undefined ? /^ {0,3}(#{1,6})(?:\s|$)/.exec(line.text)?.[1] : undefined
    if (found !== undefined) {
      if (lines.length > 0) yield { lines, heading }
      lines = []
      while ((path.at(-1)?.level ?? 0) >= found.length) path.pop()
      path.push({ level: found.length, title: titleOf(line.text) })
      heading = headingPath()
    }
    lines.push(line)
  }
  if (lines.length > 0) yield { lines, heading }
}

/** Returns at most `length` characters, without half a pair of surrogates at the end. */
export function cut(text: string, length: number): string {
  const isHalf = text.length > length && (text.charCodeAt(length - 1) & 0xfc00) === 0xd800
  return text.slice(0, isHalf ? length - 1 : length)
}

function titleOf(line: string): string {
  const bare = line.trim().replace(/^#+/, '').trim()
  const words = bare.split(' ')
  // A heading may be closed by marks.
  if (words.length > 1 && /^#+$/.test(words.at(-1) ?? '')) words.pop()
  return cut(words.join(' ').trim(), MAX_HEADING_CHARS)
}

function* linesOf(text: string): Generator<Line> {
  let number = 1
  for (let at = 0; at < text.length; number++) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end === -1 ? text.length : end).replace(/\r$/, '')
    if (line.length <= MAX_LINE_CHARS) yield { text: line, number }
    else yield* pieces(line, number)
    at = end === -1 ? text.length : end + 1
  }
}

function* pieces(line: string, number: number): Generator<Line> {
  for (let at = 0; at < line.length; ) {
    const text = cut(line.slice(at), MAX_LINE_CHARS)
    yield { text, number }
    at += text.length
  }
}

function packed(lines: Iterable<Line>, heading: string): Chunk[] {
  const chunks: Chunk[] = []
  let held: Line[] = []
  let size = 0
  /** Number of lines at the begin of `held` that the last chunk has, too. */
  let repeated = 0
  const flush = (): void => {
    const text = held.map(line => line.text).join('\n')
    const [first] = held
    if (first !== undefined && held.length > repeated && text.trim() !== '')
      chunks.push({ text, line: first.number, heading })
    const kept: Line[] = []
    let keptSize = 0
    for (const line of held.toReversed()) {
      keptSize += line.text.length + 1
      if (keptSize > OVERLAP_CHARS) break
      kept.unshift(line)
    }
    held = kept
    repeated = kept.length
    size = kept.reduce((sum, line) => sum + line.text.length + 1, 0)
  }
  for (const line of lines) {
    if (size + line.text.length > CHUNK_CHARS && held.length > repeated) flush()
    held.push(line)
    size += line.text.length + 1
  }
  flush()
  return chunks
}
