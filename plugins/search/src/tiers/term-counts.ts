import { wordForms } from '../plan/words.ts'
import type { Library } from '../store/library.ts'
import { matchAny, namedTerms } from '../store/library.ts'
import type { CountedTerm } from './candidates.ts'

/** Age from which terms are counted again. */
const FRESH_MS = 60_000
const MAX_TERMS = 10_000

export interface PassageCounts {
  readonly terms: readonly CountedTerm[]
  /** Passages of the index. */
  readonly total: number
}

/** Counts how many passages of the index have each term. A count may be a minute old, but not that of an absent term. */
export class TermCounts {
  readonly #library: Library
  readonly #counts = new Map<string, number>()
  #total = 0
  #until = Number.NEGATIVE_INFINITY

  constructor(library: Library) {
    this.#library = library
  }

  async of(terms: readonly string[]): Promise<PassageCounts> {
    if (performance.now() >= this.#until || this.#counts.size > MAX_TERMS) {
      this.#counts.clear()
      this.#total = 0
      this.#until = performance.now() + FRESH_MS
    }
    // Other queries may empty the map meanwhile.
    const counts = new Map(terms.map(term => [term, this.#counts.get(term) ?? 0]))
    const unknown = terms.filter(term => !this.#counts.has(term))
    let total = this.#total
    if (unknown.length > 0 || total === 0) {
      const columns = unknown.map(
        (_, at) =>
          `(SELECT COUNT(*) FROM search_document_chunks_fts WHERE search_document_chunks_fts MATCH :t${at}) AS t${at}`
      )
      if (total === 0) columns.push('(SELECT COUNT(*) FROM search_document_chunks) AS total')
      const [row = {}] = await this.#library.rows(`SELECT ${columns.join(', ')}`, namedTerms(unknown.map(matchForms)))
      for (const [at, term] of unknown.entries()) {
        const count = Number(row[`t${at}`])
        counts.set(term, count)
        if (count > 0) this.#counts.set(term, count)
      }
      if (total === 0) total = Number(row.total)
      this.#total = total
    }
    return { terms: [...counts].map(([term, count]) => ({ term, match: matchForms(term), count })), total }
  }
}

/** FTS5 query for a word in singular and plural. */
function matchForms(term: string): string {
  const forms = wordForms(term)
  return forms.length === 1 ? matchAny(forms) : `(${matchAny(forms)})`
}
