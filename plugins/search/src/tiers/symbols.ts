import type { SearchTier, SearchTierHit } from '@svc/contracts'
import { REPO_URI } from '../indexing/index-store.ts'
import type { Library } from '../store/library.ts'

/** Symbols that are scored, as a multiple of the limit. */
const CANDIDATES = 8
/** Weight of words that are in the path instead of the name. */
const IN_PATH = 0.5
/** Weight of a word that is the whole name, in addition to that of a word. */
const WHOLE_NAME = 1

const MATCHED = `SELECT s.uri, s.name, s.kind, s.first_line, s.last_line, COUNT(*) AS found,
    MAX(w.word = lower(s.name)) AS whole, group_concat(w.word, ' ') AS words
  FROM search_symbol_words AS w JOIN search_symbols AS s ON s.id = w.symbol_id
  WHERE w.word IN (SELECT value FROM json_each(:terms))
  GROUP BY s.id ORDER BY whole DESC, found DESC, length(s.name), s.id LIMIT :limit`

/** Definitions in source files whose names have words of the query; those near other words, in the path, come first. */
export function symbolTier(library: Library): SearchTier {
  return {
    name: 'symbol_proximity',
    corpus: 'symbol_proximity',
    unavailable: () =>
      library.problem ?? (library.isIndexed ? null : 'the project is not in the index; run svc search index'),
    async query({ terms, limit }) {
      if (terms.length === 0) return []
      const rows = await library.rows(MATCHED, { terms: JSON.stringify(terms), limit: CANDIDATES * limit })
      const scored = rows.map(row => {
        const path = String(row.uri).slice(REPO_URI.length)
        const inName = new Set(String(row.words).split(' '))
        const near = terms.filter(term => !inName.has(term) && path.toLowerCase().includes(term)).length
        const whole = Number(row.whole)
        const score = (Number(row.found) + IN_PATH * near + WHOLE_NAME * whole) / terms.length
        const place = `${path}:${row.first_line}`
        return {
          key: `${path}#${row.name}`,
          title: `${row.kind} ${row.name}`,
          text: `${row.kind} ${row.name} in ${path}, lines ${row.first_line} to ${row.last_line}`,
          line: Number(row.first_line),
          score,
          provenance: place,
          factors: [
            `${row.found} of ${terms.length} words in the name`,
            ...(near > 0 ? [`${near} in the path x ${IN_PATH}`] : []),
            ...(whole === 1 ? [`whole name x ${WHOLE_NAME}`] : [])
          ]
        }
      })
      const best = new Map<string, SearchTierHit>()
      // Overloads share a name.
      for (const hit of scored.sort((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1)))
        if (!best.has(hit.key)) best.set(hit.key, hit)
      return [...best.values()].slice(0, limit)
    }
  }
}
