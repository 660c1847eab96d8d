import { readFile, stat } from 'node:fs/promises'
import { pluginErrors } from '../errors.ts'
import { Replacements } from './replacements.ts'

/** Words of a project, with their misheard forms. */
export interface Lexicon {
  readonly replacements: Replacements
  /** Phrases that the recogniser should prefer. */
  readonly phrases: readonly string[]
}

export const EMPTY_LEXICON: Lexicon = { replacements: new Replacements([]), phrases: [] }

const MAX_PHRASES = 256

/** The lexicon in a file, which is read again when the file has changed. */
export class LexiconFile {
  readonly path: string
  /** True if the file is configured, and so must exist. */
  readonly #isRequired: boolean
  readonly #warn: (message: string) => void
  #read: { readonly mark: string; readonly lexicon: Lexicon } = { mark: '', lexicon: EMPTY_LEXICON }

  constructor(path: string, isRequired: boolean, warn: (message: string) => void) {
    this.path = path
    this.#isRequired = isRequired
    this.#warn = warn
  }

  /** Returns the current lexicon. If the file is invalid, warns once and returns the last valid content. */
  async current(): Promise<Lexicon> {
    const found = await stat(this.path).catch(() => null)
    if (found === null && !this.#isRequired) return EMPTY_LEXICON
    const mark = `${found?.size} ${found?.mtimeMs}`
    if (mark === this.#read.mark) return this.#read.lexicon
    try {
      this.#read = { mark, lexicon: parseLexicon(await readFile(this.path, 'utf8'), this.path) }
    } catch (error) {
      this.#read = { mark, lexicon: this.#read.lexicon }
      this.#warn((error as Error).message)
    }
    return this.#read.lexicon
  }
}

/** Parses a lexicon. Throws `SPP_LEXICON_INVALID` with the invalid entry. */
export function parseLexicon(text: string, path: string): Lexicon {
  const invalid = (why: string) => pluginErrors.create('SPP_LEXICON_INVALID', `${path} is not a lexicon: ${why}`)
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw invalid((error as Error).message)
  }
  const entries = (document as { entries?: unknown } | null)?.entries
  if (!Array.isArray(entries)) throw invalid('it has no list "entries"')
  const pairs: [string, string][] = []
  const phrases: string[] = []
  for (const [at, entry] of entries.entries()) {
    const { canonical, aliases = [] } = (entry ?? {}) as { canonical?: unknown; aliases?: unknown }
    if (typeof canonical !== 'string' || canonical.trim() === '') throw invalid(`entries[${at}] has no "canonical"`)
    if (!Array.isArray(aliases) || !aliases.every(alias => typeof alias === 'string'))
      throw invalid(`"aliases" of entries[${at}] is not a list of strings`)
    phrases.push(canonical)
    for (const alias of aliases as string[]) pairs.push([alias, canonical])
  }
  return { replacements: new Replacements(pairs), phrases: phrases.slice(0, MAX_PHRASES) }
}
