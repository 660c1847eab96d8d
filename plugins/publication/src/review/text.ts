/** Functions over long texts of strangers. All of them take time in proportion to the text. */

/** Returns the line of an offset, counted from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1
  return line
}

/** Returns a text without the difference of case and accents. Its offsets differ from those of the original. */
export function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replace(/\s+/g, ' ')
}

const WORD = /[\p{L}\p{N}]/u

/** Returns the offset of a whole word or phrase; -1 if it does not occur. */
export function indexOfWord(text: string, word: string): number {
  if (word === '') return -1
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + word.length)) {
    const before = text[at - 1] ?? ' '
    const after = text[at + word.length] ?? ' '
    if (!WORD.test(before) && !WORD.test(after)) return at
  }
  return -1
}

/** Returns offsets of matches of a global pattern that has no nested or unlimited repetitions; at most `max`. */
export function offsetsOf(text: string, pattern: RegExp, max = 1_000): number[] {
  const offsets: number[] = []
  for (const { index } of text.matchAll(pattern)) {
    offsets.push(index)
    if (offsets.length === max) break
  }
  return offsets
}

const LOCAL_PART = /[\w.%+-]/
const DOMAIN = /[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/y

/** Returns offsets of the `@` in e-mail addresses; at most `max`. */
export function emailOffsets(text: string, max = 1_000): number[] {
  const offsets: number[] = []
  for (let at = text.indexOf('@'); at !== -1 && offsets.length < max; at = text.indexOf('@', at + 1)) {
    DOMAIN.lastIndex = at + 1
    if (LOCAL_PART.test(text[at - 1] ?? ' ') && DOMAIN.test(text)) offsets.push(at)
  }
  return offsets
}

export interface MarkdownImage {
  readonly offset: number
  readonly alt: string
  readonly target: string
}

const MAX_IMAGE_CHARACTERS = 2_000

/** Returns images of a Markdown text, at most `max`. Reference-style images are not found. */
export function imagesOf(text: string, max = 5_000): MarkdownImage[] {
  const images: MarkdownImage[] = []
  let from = 0
  let searched = 0
  while (images.length < max) {
    const middle = text.indexOf('](', from)
    if (middle === -1) break
    from = middle + 2
    // Only the text since the last link is searched, so that each character is read once.
    const near = text.slice(Math.max(searched, middle - MAX_IMAGE_CHARACTERS), middle)
    const start = middle - near.length + near.lastIndexOf('![')
    searched = from
    if (!near.includes('![')) continue
    const end = text.slice(from, from + MAX_IMAGE_CHARACTERS).indexOf(')')
    if (end === -1) continue
    const inner = text.slice(from, from + end).trim()
    const [target = ''] = inner.startsWith('<') ? inner.slice(1).split('>', 1) : inner.split(/\s/, 1)
    images.push({ offset: start, alt: text.slice(start + 2, middle), target })
    from += end + 1
  }
  return images
}

/** Returns where something was found: the line of the first place, and how many more there are. */
export function places(text: string, offsets: readonly number[]): string {
  const [first = 0] = offsets
  const more = offsets.length - 1
  return `line ${lineAt(text, first)}${more > 0 ? ` and ${more} more` : ''}`
}
