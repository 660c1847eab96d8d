/** Maximum grapheme clusters of a text that a model wrote. */
export const MAX_GRAPHEMES = 400
/** Maximum UTF-16 units that are read of an answer: one cluster can have any number of them. */
export const MAX_READ = 4_000

let segmenter: Intl.Segmenter | undefined
/** White space, control characters, halves of characters, and invisible ones that change the order of text. Emojis need U+200D. */
const UNSHOWN = /[\s\p{Cc}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+|(?!\u200d)\p{Cf}/gu

/**
 * Returns the text in one line of plain text of at most `limit` grapheme clusters: without control characters, and
 * without characters that change its direction. A longer text ends with `…`.
 */
export function plainText(text: string, limit = MAX_GRAPHEMES): string {
  const line = text
    .slice(0, MAX_READ)
    .replace(UNSHOWN, match => (/^\p{Cf}$/u.test(match) ? '' : ' '))
    .trim()
  let count = 0
  for (const { index } of clustersOf(line)) {
    if (count === limit - 1 && !isLast(line, index)) return `${line.slice(0, index).trimEnd()}…`
    count += 1
  }
  return line
}

/** Returns the grapheme clusters. The segmenter is made on first use, since that takes milliseconds. */
function clustersOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' })
  return segmenter.segment(text)
}

function isLast(line: string, index: number): boolean {
  const rest = clustersOf(line.slice(index))[Symbol.iterator]()
  rest.next()
  return rest.next().done === true
}
