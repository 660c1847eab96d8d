import { isProtected, type TranscriptWord } from './words.ts'

export interface Correction {
  readonly from: string
  readonly to: string
}

/** Replacements of phrases by other words. */
export class Replacements {
  readonly #byFirst = new Map<string, { readonly words: readonly string[]; readonly to: string }[]>()

  /** `pairs` map misheard words to the intended ones. The first pair for the same words wins. */
  constructor(pairs: Iterable<readonly [misheard: string, intended: string]>) {
    for (const [misheard, intended] of pairs) {
      const words = misheard.toLowerCase().split(/\s+/).filter(Boolean)
      const [first] = words
      if (first === undefined) continue
      const known = this.#byFirst.get(first) ?? []
      if (known.some(each => each.words.join(' ') === words.join(' '))) continue
      // Longer phrases with the same start are tried first.
      this.#byFirst.set(
        first,
        [...known, { words, to: intended }].sort((a, b) => b.words.length - a.words.length)
      )
    }
  }

  /** Replaces phrases from left to right, and records the changes. A phrase never contains a protected word. */
  apply(words: readonly TranscriptWord[], corrections: Correction[]): readonly TranscriptWord[] {
    const out: TranscriptWord[] = []
    for (let at = 0; at < words.length; ) {
      const found = this.#at(words, at)
      const first = words[at] as TranscriptWord
      if (found === null) {
        out.push(first)
        at += 1
        continue
      }
      const replaced = words.slice(at, at + found.count)
      const from = replaced.map(({ core }) => core).join(' ')
      if (from !== found.to) corrections.push({ from, to: found.to })
      out.push({ before: first.before, core: found.to, after: (replaced.at(-1) as TranscriptWord).after })
      at += found.count
    }
    return out
  }

  #at(words: readonly TranscriptWord[], at: number): { readonly count: number; readonly to: string } | null {
    const candidates = this.#byFirst.get((words[at] as TranscriptWord).core.toLowerCase()) ?? []
    for (const { words: wanted, to } of candidates) {
      const phrase = words.slice(at, at + wanted.length)
      const matches =
        phrase.length === wanted.length && phrase.every((word, n) => word.core.toLowerCase() === wanted[n])
      // Words separated by a comma are not a phrase.
      const isContiguous = phrase.every(
        (word, n) => (n === 0 || word.before === '') && (n === phrase.length - 1 || word.after === '')
      )
      if (matches && isContiguous && !phrase.some(isProtected)) return { count: wanted.length, to }
    }
    return null
  }
}
