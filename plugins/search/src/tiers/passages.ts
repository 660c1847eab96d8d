import type { SearchTier } from '@svc/contracts'
import { countSingulars, singular } from '../plan/words.ts'
import { type Bm25, bm25, rankScore } from '../score/scores.ts'
import type { Library } from '../store/library.ts'
import { candidateQuery } from './candidates.ts'
import { textHit } from './knowledge.ts'
import { type PassageCounts, TermCounts } from './term-counts.ts'

/** Passages that one query ranks at most: the newest of those that match. */
const MAX_RANKED = 8_000
/** Passages that are scored again with all terms. */
const MIN_SCORED = 64
const SCORED_OF_LIMIT = 4
const USUAL_BM25: Bm25 = { k1: 1.2, b: 0.75 }

/** The best rows are chosen before the others are read. */
const PASSAGES = `SELECT c.id AS key, d.title AS title, c.body_text AS body, d.source_uri AS source, p.first_line AS line,
  p.heading AS heading, g.page AS page FROM (SELECT rowid AS id, rank FROM search_document_chunks_fts WHERE search_document_chunks_fts MATCH :query
    AND rowid >= coalesce((SELECT rowid FROM search_document_chunks_fts WHERE search_document_chunks_fts MATCH :query
      ORDER BY rowid DESC LIMIT 1 OFFSET ${MAX_RANKED}), 0) ORDER BY rank LIMIT :limit) AS best
  JOIN search_document_chunks AS c ON c.id = best.id
  JOIN search_documents AS d ON d.id = c.document_id LEFT JOIN search_chunk_places AS p ON p.chunk_id = c.id
  LEFT JOIN search_chunk_pages AS g ON g.chunk_id = c.id ORDER BY best.rank`

type Row = Record<string, unknown>

/**
 * Passages of indexed documents by full-text search. The full-text index finds candidates, in a large index by the rare
 * terms of a query, and BM25 over text, heading and title ranks these. Singular and plural of a word are the same.
 */
export function chunkTier(library: Library, parameters: () => Bm25 = () => USUAL_BM25): SearchTier {
  const termCounts = new TermCounts(library)
  return {
    name: 'chunk_fts',
    corpus: 'document_chunks',
    unavailable: () => library.problem ?? (library.capabilities?.fts ? null : 'the database has no full-text search'),
    // A passage of the index that is not among the best by words gets nothing for them.
    scores: async (_request, keys) => new Map(keys.filter(key => /^\d+$/.test(key)).map(key => [key, 0])),
    async query({ terms, limit }) {
      if (terms.length === 0) return []
      const counts = await termCounts.of(terms)
      const { match, all } = candidateQuery(counts.terms, counts.total)
      if (match === null) return []
      const wanted = Math.max(MIN_SCORED, SCORED_OF_LIMIT * limit)
      let rows: Row[] = await library.rows(PASSAGES, { query: match, limit: wanted })
      if (rows.length < limit && match !== all) rows = await library.rows(PASSAGES, { query: all, limit: wanted })
      const best = byAllTerms(rows, counts, parameters()).slice(0, limit)
      return best.map((row, rank) => textHit(row, rankScore(rank), `rank ${rank + 1}: 1/${rank + 1}`))
    }
  }
}

/** Orders passages by BM25 over their text, their heading and the title of their document. */
function byAllTerms(rows: readonly Row[], { terms, total }: PassageCounts, parameters: Bm25): Row[] {
  const having = new Map<string, number>()
  for (const { term, count } of terms) {
    const name = singular(term)
    having.set(name, Math.max(count, having.get(name) ?? 0))
  }
  const wanted = new Set(having.keys())
  const counted = rows.map(row => ({
    row,
    ...countSingulars(`${row.title}\n${row.heading ?? ''}\n${row.body}`, wanted)
  }))
  const words = counted.reduce((sum, each) => sum + each.words, 0)
  const corpus = { texts: total, meanWords: words / Math.max(1, rows.length), having }
  return counted
    .map(each => ({ row: each.row, score: bm25(each.counts, each.words, corpus, parameters) }))
    .toSorted((a, b) => b.score - a.score || Number(a.row.key) - Number(b.row.key))
    .map(({ row }) => row)
}
