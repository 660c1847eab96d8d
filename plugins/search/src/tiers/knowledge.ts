import type { SearchTier, SearchTierHit } from '@svc/contracts'
import { REPO_URI } from '../indexing/index-store.ts'
import { rankScore } from '../score/scores.ts'
import { countedTerms, type Library, matchAny, namedTerms } from '../store/library.ts'

const NODES = `SELECT id AS key, label AS title, coalesce(content, '') AS body, 'knowledge_nodes' AS source
  FROM knowledge_nodes_fts WHERE knowledge_nodes_fts MATCH :query ORDER BY bm25(knowledge_nodes_fts) LIMIT :limit`

// toestub-ignore(scaling/sql-without-limit) - a subquery; the query around it has a limit
const SCANNED_NODES = `SELECT id AS key, label AS title, coalesce(content, '') AS body, 'knowledge_nodes' AS source,
  COUNTED(label || ' ' || coalesce(content, '')) AS found FROM knowledge_nodes`

// toestub-ignore(scaling/sql-without-limit) - a subquery; the query around it has a limit
const SCANNED_CHUNKS = `SELECT c.id AS key, d.title AS title, c.body_text AS body, d.source_uri AS source,
  p.first_line AS line, g.page AS page, COUNTED(c.body_text) AS found FROM search_document_chunks AS c
  JOIN search_documents AS d ON d.id = c.document_id LEFT JOIN search_chunk_places AS p ON p.chunk_id = c.id
  LEFT JOIN search_chunk_pages AS g ON g.chunk_id = c.id`

/** Knowledge nodes by full-text search. */
export function knowledgeTier(library: Library): SearchTier {
  return {
    name: 'knowledge_fts',
    corpus: 'knowledge_graph',
    unavailable: () => library.problem ?? (library.capabilities?.fts ? null : 'the database has no full-text search'),
    async query({ terms, limit }) {
      if (terms.length === 0) return []
      const rows = await library.rows(NODES, { query: matchAny(terms), limit })
      return rows.map((row, rank) => textHit(row, rankScore(rank), `rank ${rank + 1}: 1/${rank + 1}`))
    }
  }
}

/** Knowledge nodes that contain words of the query, for databases without full-text search. */
export function knowledgeScanTier(library: Library): SearchTier {
  return scanned(library, 'knowledge_scan', 'knowledge_graph', SCANNED_NODES)
}

/** Passages that contain words of the query, for databases without full-text search. */
export function chunkScanTier(library: Library): SearchTier {
  return scanned(library, 'chunk_scan', 'document_chunks', SCANNED_CHUNKS)
}

function scanned(library: Library, name: string, corpus: SearchTier['corpus'], sql: string): SearchTier {
  return {
    name,
    corpus,
    backend: 'lexical_fallback',
    ranked: false,
    unavailable: () => library.problem ?? (library.capabilities?.fts ? 'full-text search is used instead' : null),
    async query({ terms, limit }) {
      if (terms.length === 0) return []
      const counted = sql.replace(
        /COUNTED\((.*)\) AS found/,
        (_, text: string) => `${countedTerms(text, terms)} AS found`
      )
      const rows = await library.rows(`SELECT * FROM (${counted}) WHERE found > 0 ORDER BY found DESC LIMIT :limit`, {
        ...namedTerms(terms),
        limit
      })
      return rows.map(row =>
        textHit(row, Number(row.found) / terms.length, `${row.found} of ${terms.length} words, without rank`)
      )
    }
  }
}

/** Makes a hit of a row with `key`, `title`, `body`, `source` and perhaps `line`. */
export function textHit(row: Record<string, unknown>, score: number, factor: string): SearchTierHit {
  const source = String(row.source)
  return {
    key: String(row.key),
    title: titleOf(source, String(row.title), row.page),
    text: String(row.body),
    ...(typeof row.line === 'number' ? { line: row.line } : {}),
    score,
    provenance: provenanceOf(source, row.page),
    factors: [factor]
  }
}

/** Pages are named as in URLs of PDF documents (RFC 8118). */
export function provenanceOf(source: string, page: unknown): string {
  return typeof page === 'number' ? `${source}#page=${page}` : source
}

/** Files of the project are named by their path, with the title of the document if it has one, and with the page. */
export function titleOf(source: string, title: string, page?: unknown): string {
  const path = source.startsWith(REPO_URI) ? source.slice(REPO_URI.length) : null
  const named = path === null ? title || source : title === '' || title === path ? path : `${path}: ${title}`
  return typeof page === 'number' ? `${named}, page ${page}` : named
}
