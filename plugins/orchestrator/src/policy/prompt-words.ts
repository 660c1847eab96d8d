/** A word of a text, lower-case and with look-alike letters folded. */
export interface PromptWord {
  readonly text: string
  /** Offset in the text, UTF-16 code units. */
  readonly start: number
  readonly end: number
  /** True if the word is the first of a sentence, clause or line; white space, quotes and list marks do not count. */
  readonly opens: boolean
  /** Number of the sentence; a line break does not end a sentence. */
  readonly sentence: number
}

/** Cyrillic, Armenian and Greek letters that look like the Latin letter they map to. */
const DRAWN_ALIKE =
  '\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0455\u0458\u0501\u0261\u04bb\u0578\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u04cf'
const LATIN = 'aeopcxyisjdghnaopvikl'
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [...DRAWN_ALIKE].map((letter, at) => [letter, LATIN[at] ?? letter])
)

const WORD = /[\p{L}\p{N}_]+(?:['’][\p{L}]+)?/gu
const CLAUSE_END = /[.!?;:,\n—–()-]/
const SENTENCE_END = /[.!?;]/

/** Splits text into words. Blanked-out parts yield no words. Runs in linear time. */
export function promptWords(text: string): PromptWord[] {
  const words: PromptWord[] = []
  let end = 0
  let sentence = 0
  for (const match of text.matchAll(WORD)) {
    const between = text.slice(end, match.index)
    if (SENTENCE_END.test(between) || between.includes('\n\n')) sentence += 1
    words.push({
      text: fold(match[0]),
      start: match.index,
      end: match.index + match[0].length,
      opens: words.length === 0 || CLAUSE_END.test(between),
      sentence
    })
    end = match.index + match[0].length
  }
  return words
}

/** Maps look-alike letters to one form: compatibility forms, case, and other alphabets. */
function fold(text: string): string {
  const lower = text.toLowerCase()
  // Fast path for plain words.
  if (/^[\w']+$/.test(lower)) return lower
  const plain = lower.normalize('NFKC').replaceAll('’', "'").toLowerCase()
  return [...plain].map(letter => LOOK_ALIKES.get(letter) ?? letter).join('')
}
