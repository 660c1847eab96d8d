import { type LexicalSyntax, languageOf } from '../lex/languages.ts'

/** Languages that the rules distinguish. `other`: only rules on comments and on plain code apply. */
const LANGUAGES = ['rust', 'typescript', 'javascript', 'python', 'gdscript', 'vox', 'other'] as const

export type LanguageId = (typeof LANGUAGES)[number]

/** Grammar of a language whose syntax trees the engine reads. */
export type Grammar = 'typescript' | 'tsx' | 'javascript' | 'python' | 'rust'

export interface SourceLanguage {
  readonly id: LanguageId
  /** Null: functions are found without a grammar. */
  readonly grammar: Grammar | null
  /** Comments and strings, for files without a syntax tree. */
  readonly lexical: LexicalSyntax
}

/** File extensions of a project scan, by the names that `--langs` accepts. */
export const SCANNED_EXTENSIONS: Readonly<Record<string, readonly [id: LanguageId, grammar: Grammar | null]>> = {
  rs: ['rust', 'rust'],
  ts: ['typescript', 'typescript'],
  mts: ['typescript', 'typescript'],
  cts: ['typescript', 'typescript'],
  tsx: ['typescript', 'tsx'],
  js: ['javascript', 'javascript'],
  jsx: ['javascript', 'javascript'],
  mjs: ['javascript', 'javascript'],
  cjs: ['javascript', 'javascript'],
  py: ['python', 'python'],
  gd: ['gdscript', null],
  vox: ['vox', null]
}

/** Returns the extension of a path without the dot, in lower case; empty if it has none. */
export function extensionOf(path: string): string {
  return /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
}

/** Returns the language of a file's path; null if it is not source code. */
export function sourceLanguage(path: string): SourceLanguage | null {
  const lexical = languageOf(path)
  if (lexical === null) return null
  const [id, grammar] = SCANNED_EXTENSIONS[extensionOf(path)] ?? (['other', null] as const)
  return { id, grammar, lexical }
}
