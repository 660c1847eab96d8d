import type { SearchHit } from '@svc/contracts'
import { queryTerms, wordsOf } from '../plan/words.ts'

const MAX_EXPANDED = 3
const FEEDBACK_HITS = 3
const FEEDBACK_WORDS = 3

/**
 * Returns up to 3 queries for a corrective search: the terms that no hit contains, the terms that hits contain, and
 * the query with frequent words of the titles of the best hits. Queries in `tried` are left out.
 */
export function expandQuery(query: string, hits: readonly SearchHit[], tried: ReadonlySet<string>): readonly string[] {
  const terms = queryTerms(query)
  const found = new Set(hits.flatMap(({ title, text }) => wordsOf(`${title} ${text}`)))
  const missing = terms.filter(term => !found.has(term))
  const present = terms.filter(term => found.has(term))
  const candidates = [missing.join(' '), present.join(' '), feedback(terms, hits)]
  return [...new Set(candidates)].filter(each => each !== '' && !tried.has(each)).slice(0, MAX_EXPANDED)
}

function feedback(terms: readonly string[], hits: readonly SearchHit[]): string {
  const known = new Set(terms)
  const counts = new Map<string, number>()
  for (const { title } of hits.slice(0, FEEDBACK_HITS))
    for (const word of queryTerms(title)) if (!known.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1)
  const words = [...counts].sort(([, a], [, b]) => b - a).slice(0, FEEDBACK_WORDS)
  return words.length === 0 ? '' : [...terms, ...words.map(([word]) => word)].join(' ')
}
