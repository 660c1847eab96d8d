/** A word of the language as editors show it. */
export interface Word {
  readonly name: string
  /** How it is written: `len(x) to int`, `@table type Name { … }`. */
  readonly signature: string
  /** Summary in one sentence. */
  readonly text: string
  /** Snippet that completion inserts, with placeholders as `$1`; default: the name. */
  readonly snippet?: string
}

/**
 * Words from lines `name | signature | text | snippet`; the snippet may be left out. A bar that belongs to a part is
 * written `\\|`, and a line break of a snippet `\\n`.
 */
export function words(lines: string): ReadonlyMap<string, Word> {
  return new Map(
    lines
      .trim()
      .split('\n')
      .map(line => {
        const [name = '', signature = '', text = '', snippet] = line
          .split(' | ')
          .map(part => part.replaceAll('\\|', '|'))
        return [
          name,
          { name, signature, text, ...(snippet === undefined ? {} : { snippet: snippet.replaceAll('\\n', '\n') }) }
        ]
      })
  )
}
