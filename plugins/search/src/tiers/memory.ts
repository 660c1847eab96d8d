import type { SearchTier, SearchTierHit } from '@svc/contracts'
import { countTerms } from '../plan/words.ts'
import { ageFactor, type Bm25, bm25, statusFactor } from '../score/scores.ts'
import { countedTerms, type Library, matchAny, namedTerms } from '../store/library.ts'

/** Memories that are scored, as a multiple of the limit. */
const CANDIDATES = 4
const COLUMNS = 'm.key, m.title, m.body, m.status, m.source, m.words, m.updated_at_ms'

const MATCHED = `SELECT ${COLUMNS} FROM memories_fts JOIN memories AS m ON m.key = memories_fts.key
  WHERE memories_fts MATCH :query ORDER BY bm25(memories_fts) LIMIT :limit`

/**
 * Memories by BM25 x a factor for the status x a factor for the age. The full-text index chooses 4 x limit of them.
 */
export function memoryTier(library: Library, parameters: () => Bm25, now: () => number): SearchTier {
  return {
    name: 'memory_bm25',
    corpus: 'memory',
    unavailable: () => library.problem ?? (library.capabilities?.fts ? null : 'the database has no full-text search'),
    async query({ terms, limit }) {
      if (terms.length === 0) return []
      const rows = await library.rows(MATCHED, { query: matchAny(terms), limit: CANDIDATES * limit })
      if (rows.length === 0) return []
      const having = terms.map((_, index) => `(SELECT COUNT(*) FROM memories_fts WHERE memories_fts MATCH :t${index})`)
      const [stats = {}] = await library.rows(
        `SELECT COUNT(*) AS texts, AVG(words) AS mean, ${having.map((sql, at) => `${sql} AS h${at}`).join(', ')}
          FROM memories`,
        namedTerms(terms.map(term => matchAny([term])))
      )
      const corpus = {
        texts: Number(stats.texts),
        meanWords: Number(stats.mean),
        having: new Map(terms.map((term, at) => [term, Number(stats[`h${at}`])]))
      }
      const wanted = new Set(terms)
      return rows.map(row => {
        const { counts, words } = countTerms(`${row.title} ${row.body}`, wanted)
        return memoryHit(row, bm25(counts, words, corpus, parameters()), now())
      })
    }
  }
}

/** Memories that contain words of the query, for databases without full-text search. */
export function memoryScanTier(library: Library, now: () => number): SearchTier {
  return {
    name: 'memory_scan',
    corpus: 'memory',
    backend: 'lexical_fallback',
    ranked: false,
    unavailable: () => library.problem ?? (library.capabilities?.fts ? 'full-text search is used instead' : null),
    async query({ terms, limit }) {
      if (terms.length === 0) return []
      const rows = await library.rows(
        `SELECT * FROM (SELECT ${COLUMNS}, ${countedTerms("m.title || ' ' || m.body", terms)} AS found FROM memories AS m)
          WHERE found > 0 ORDER BY found DESC, updated_at_ms DESC LIMIT :limit`,
        { ...namedTerms(terms), limit }
      )
      return rows.map(row => memoryHit(row, Number(row.found) / terms.length, now()))
    }
  }
}

function memoryHit(row: Record<string, unknown>, base: number, now: number): SearchTierHit {
  const status = String(row.status)
  const [byStatus, byAge] = [statusFactor(status), ageFactor(now - Number(row.updated_at_ms))]
  return {
    key: String(row.key),
    title: String(row.title) || String(row.key),
    text: String(row.body),
    score: base * byStatus * byAge,
    provenance: String(row.source) || 'memories',
    factors: [`words ${base.toFixed(3)}`, `status ${status} x${byStatus}`, `age x${byAge.toFixed(3)}`]
  }
}
