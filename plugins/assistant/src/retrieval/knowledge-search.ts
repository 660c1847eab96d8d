import type { DatabaseStore, SqlValue } from '@svc/contracts'
import type { Passage } from './passage.ts'
import { countTerms } from './terms.ts'

const PIECE_CHARACTERS = 1_600

export interface KnowledgeSearch {
  readonly found: readonly Passage[]
  /** `fts5`: with an index; `scan`: the engine has no index; null: there are no search terms. */
  readonly by: 'fts5' | 'scan' | null
}

const INDEXED = `
SELECT 'documents', d.source_uri, c.body_text, -bm25(search_document_chunks_fts)
  FROM search_document_chunks_fts JOIN search_document_chunks AS c ON c.id = search_document_chunks_fts.rowid
  JOIN search_documents AS d ON d.id = c.document_id
  WHERE search_document_chunks_fts MATCH :query
UNION ALL
SELECT 'knowledge', id, label || char(10) || coalesce(content, ''), -bm25(knowledge_nodes_fts)
  FROM knowledge_nodes_fts WHERE knowledge_nodes_fts MATCH :query
ORDER BY 4 DESC LIMIT :limit`

const SCANNED = `
SELECT kind, ref, body, score FROM (
  SELECT 'documents' AS kind, d.source_uri AS ref, c.body_text AS body, CONDITION_BODY AS score
    FROM search_document_chunks AS c JOIN search_documents AS d ON d.id = c.document_id
  UNION ALL
  SELECT 'knowledge', id, label || char(10) || coalesce(content, ''), CONDITION_NODE FROM knowledge_nodes
) WHERE score > 0 ORDER BY score DESC LIMIT :limit`

/** Searches ingested documents and knowledge nodes. Throws the database's errors. */
export async function searchKnowledge(
  store: DatabaseStore,
  terms: readonly string[],
  results: number
): Promise<KnowledgeSearch> {
  if (terms.length === 0) return { found: [], by: null }
  const { fts } = await store.capabilities()
  const { rows } = fts
    ? await store.query(INDEXED, { query: terms.map(term => `"${term}"`).join(' OR '), limit: results })
    : await store.query(scan(terms), { limit: results, ...namedTerms(terms) })
  return { found: foundIn(rows, terms), by: fts ? 'fts5' : 'scan' }
}

/** Returns SQL that scans texts and counts the matching terms. */
function scan(terms: readonly string[]): string {
  const matchCount = (text: string) => terms.map((_, index) => `(instr(lower(${text}), :t${index}) > 0)`).join(' + ')
  return SCANNED.replace('CONDITION_BODY', matchCount('c.body_text')).replace(
    'CONDITION_NODE',
    matchCount("label || ' ' || coalesce(content, '')")
  )
}

function namedTerms(terms: readonly string[]): Record<string, string> {
  return Object.fromEntries(terms.map((term, index) => [`t${index}`, term]))
}

function foundIn(rows: readonly (readonly SqlValue[])[], terms: readonly string[]): Passage[] {
  const wanted = new Set(terms)
  return rows.map(([source, ref, body, score]) => {
    const text = String(body).slice(0, PIECE_CHARACTERS)
    return {
      source: source === 'documents' ? 'documents' : 'knowledge',
      ref: String(ref),
      line: null,
      text,
      score: Number(score),
      matched: [...countTerms(text, wanted).counts.keys()]
    }
  })
}
