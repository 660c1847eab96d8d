import { defined } from '@svc/plugin-sdk'
/** Documentation of a word of the language, for editors. */
export interface VocabularyWord {
  readonly name: string
  /** Syntax of the word: `len(x) to int`, `@table type Name { … }`. */
  readonly signature: string
  /** Summary, in one sentence. */
  readonly text: string
  /** Snippet that completion inserts, with placeholders as `$1`; default: the name. */
  readonly snippet?: string
}

/**
 * Parses words from lines `name | signature | text | snippet`; the snippet is optional. A literal bar is written `\\|`,
 * and a line break in a snippet `\\n`.
 */
export function words(lines: string): ReadonlyMap<string, VocabularyWord> {
  return new Map(
    lines
      .trim()
      .split('\n')
      .map(line => {
        const [name = '', signature = '', text = '', snippet] = line
          .split(' | ')
          .map(part => part.replaceAll('\\|', '|'))
        return [name, defined({ name, signature, text, snippet: snippet?.replaceAll('\\n', '\n') })]
      })
  )
}
