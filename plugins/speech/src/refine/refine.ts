import { CONFUSIONS, PHRASES } from './confusions.ts'
import type { Lexicon } from './lexicon.ts'
import type { Correction } from './replacements.ts'
import { textOf, wordsOf } from './words.ts'

export type Profile = 'conservative' | 'balanced' | 'aggressive'

export interface Refined {
  readonly text: string
  readonly corrections: readonly Correction[]
}

/**
 * Refines the recognised text: normalises spaces, corrects known confusions and words of the lexicon, writes names in
 * their usual spelling, and with `aggressive` capitalises the first letter. Code, paths, flags and numbers are
 * unchanged.
 */
export function refine(raw: string, lexicon: Lexicon, profile: Profile): Refined {
  const corrections: Correction[] = []
  let words = wordsOf(raw)
  for (const replacements of [CONFUSIONS, lexicon.replacements, PHRASES]) words = replacements.apply(words, corrections)
  const text = textOf(words)
  if (profile !== 'aggressive') return { text, corrections }
  return { text: text.replace(/^\p{Ll}/u, first => first.toUpperCase()), corrections }
}
