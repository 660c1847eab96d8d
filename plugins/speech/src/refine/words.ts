/** A word and the punctuation around it: `("mens,` is `("`, `mens` and `,`. */
export interface TranscriptWord {
  readonly before: string
  readonly core: string
  readonly after: string
}

export function wordsOf(text: string): readonly TranscriptWord[] {
  return text.split(/\s+/).flatMap(part => {
    if (part === '') return []
    const before = /^[^\p{L}\p{N}\\/-]*/u.exec(part)?.[0] ?? ''
    const rest = part.slice(before.length)
    const after = /[^\p{L}\p{N}\\/-]*$/u.exec(rest)?.[0] ?? ''
    return [{ before, core: rest.slice(0, rest.length - after.length), after }]
  })
}

export function textOf(words: readonly TranscriptWord[]): string {
  return words.map(({ before, core, after }) => before + core + after).join(' ')
}

/** True for code, paths, flags and numbers, which no rule may change. */
export function isProtected({ core }: TranscriptWord): boolean {
  return /--|[/\\.]|::|\p{N}/u.test(core)
}
