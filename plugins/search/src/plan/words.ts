const WORD = /[\p{L}\p{N}_]+/gu
const PARTS = /\p{Lu}?[\p{Ll}]+|\p{Lu}+(?!\p{Ll})|\p{N}+|[\p{Lo}]+/gu
const MAX_TERMS = 24
const MIN_TERM_LENGTH = 2
/** Longer words are no nouns, and shortening one again and again would take long. */
const MAX_NOUN_LENGTH = 40
/** Shorter words, such as `bus` and `css`, are no plurals. */
const MIN_PLURAL_LENGTH = 3
/** Characters of a text that are looked at for its words. */
const MAX_CHARS = 200_000

const COMMON = new Set(
  `a about add all an and any are as at be but by can could did do does explain file find for from give had has have help how i if in
  into is it its just let like make may me my need no not of on one or our out please show should so some tell than that the their then
  there these they this to up us use used uses using want was way we were what when where which who why will with would write you your`.split(
    /\s+/
  )
)

/** Returns search terms: words and parts of compound names, in lower case, without stop words, at most 24. */
export function queryTerms(text: string): readonly string[] {
  const terms = new Set<string>()
  for (const word of text.slice(0, MAX_CHARS).match(WORD) ?? []) {
    for (const term of termsOf(word)) {
      if (term.length >= MIN_TERM_LENGTH && !COMMON.has(term)) terms.add(term)
      if (terms.size === MAX_TERMS) return [...terms]
    }
  }
  return [...terms]
}

export function isStopWord(word: string): boolean {
  return COMMON.has(word)
}

/** Returns the words of a text in lower case, in order. */
export function wordsOf(text: string): readonly string[] {
  return (text.slice(0, MAX_CHARS).match(WORD) ?? []).map(word => word.toLowerCase())
}

/** Counts the occurrences of the terms in a text, and its words. */
export function countTerms(
  text: string,
  terms: ReadonlySet<string>
): { readonly counts: ReadonlyMap<string, number>; readonly words: number } {
  const counts = new Map<string, number>()
  let words = 0
  for (const word of text.match(WORD) ?? []) {
    words += 1
    for (const term of termsOf(word)) if (terms.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1)
  }
  return { counts, words }
}

/**
 * Returns a form that singular and plural of an English noun share, mostly the singular; the word itself for other
 * words. A word in `ses`, `xes`, `zes`, `ches` or `shes` may have a singular with `e`, such as `cache`, or without, such
 * as `match`, and one in `ies` one in `ie` or `y`: both become the same form.
 */
export function singular(word: string): string {
  if (word.length > MAX_NOUN_LENGTH) return word
  for (let form = word; ; ) {
    const next = shortened(form)
    if (next === form) return form
    form = next
  }
}

function shortened(word: string): string {
  if (word.length <= MIN_PLURAL_LENGTH || /(?:ss|us|is)$/.test(word)) return word
  const form = /ies?$/.test(word)
    ? word.replace(/ies?$/, 'y')
    : /(?:[sxz]|ch|sh)es?$/.test(word)
      ? word.replace(/es?$/, '')
      : ''
  if (form.length >= MIN_PLURAL_LENGTH) return form
  return word.endsWith('s') ? word.slice(0, -1) : word
}

/** Returns a word with its possible singulars and plurals, without duplicates. */
export function wordForms(word: string): readonly string[] {
  const ones = possibleSingulars(word)
  const plurals = (ones.length === 0 ? [word] : ones).filter(isNoun).map(plural)
  // A singular may end with s.
  if (ones.length > 0 && !word.endsWith('es') && isNoun(word)) plurals.push(plural(word))
  return [...new Set([word, ...ones, ...plurals])]
}

function possibleSingulars(word: string): readonly string[] {
  if (word.length <= MIN_PLURAL_LENGTH || !word.endsWith('s') || /(?:ss|us|is)$/.test(word)) return []
  const one = word.slice(0, -1)
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`, one]
  return /(?:[sxz]|ch|sh)es$/.test(word) ? [word.slice(0, -2), one] : [one]
}

function plural(word: string): string {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`
  return /(?:[sxz]|ch|sh)$/.test(word) ? `${word}es` : `${word}s`
}

function isNoun(word: string): boolean {
  return word.length >= MIN_PLURAL_LENGTH && /^\p{L}+$/u.test(word)
}

/** Counts the occurrences of words in a text by their singular, and the words of the text. */
export function countSingulars(
  text: string,
  wanted: ReadonlySet<string>
): { readonly counts: ReadonlyMap<string, number>; readonly words: number } {
  const counts = new Map<string, number>()
  let words = 0
  for (const word of text.match(WORD) ?? []) {
    words += 1
    const parts = termsOf(word)
    // Almost all words have one part.
    const terms = parts.length === 1 ? [singular(parts[0] as string)] : new Set(parts.map(singular))
    for (const term of terms) if (wanted.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1)
  }
  return { counts, words }
}

/** Returns a word, with its parts if it is a compound name, such as `readFile` or `read_file`. */
function termsOf(word: string): readonly string[] {
  const whole = word.toLowerCase()
  if (whole === word && !word.includes('_')) return [whole]
  const parts = (word.match(PARTS) ?? []).map(part => part.toLowerCase())
  return [...new Set([whole, ...parts])]
}
