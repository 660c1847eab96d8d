import type { SearchTier } from '@svc/contracts'
import type { ModelEmbedder } from '../engine/query-embedder.ts'
import { chunkVectorScore } from '../score/scores.ts'
import type { Library } from '../store/library.ts'
import type { ChunkVectors } from '../vectors/chunk-vectors.ts'
import { provenanceOf, titleOf } from './knowledge.ts'

const CHUNKS = `SELECT c.id, d.title, c.body_text AS body, d.source_uri AS source, p.first_line AS line,
  g.page AS page FROM search_document_chunks AS c JOIN search_documents AS d ON d.id = c.document_id
  LEFT JOIN search_chunk_places AS p ON p.chunk_id = c.id
  LEFT JOIN search_chunk_pages AS g ON g.chunk_id = c.id WHERE c.id IN (SELECT value FROM json_each(:ids))`

/** Passages of indexed documents by the similarity of their vectors. */
export function chunkVectorTier(library: Library, vectors: ChunkVectors, embedder: ModelEmbedder): SearchTier {
  return {
    name: 'chunk_vector',
    corpus: 'document_chunks',
    leg: 'vector',
    unavailable: () => library.problem ?? vectors.unavailable(),
    async scores({ query }, keys, signal) {
      const { model, vector } = await embedder.embed(query, signal)
      const found = await vectors.similarities(model, vector, keys.map(Number))
      return new Map([...found].map(([id, similarity]) => [String(id), chunkVectorScore(similarity)]))
    },
    async query({ query, limit }, signal) {
      const { model, vector } = await embedder.embed(query, signal)
      const passages = async () => {
        const similar = await vectors.search(model, vector, limit)
        const ids = JSON.stringify(similar.map(({ id }) => id))
        const rows = similar.length === 0 ? [] : await library.rows(CHUNKS, { ids })
        return { similar, byId: new Map(rows.map(row => [Number(row.id), row])) }
      }
      let found = await passages()
      const removed = found.similar.flatMap(({ id }) => (found.byId.has(id) ? [] : [id]))
      if (removed.length > 0) {
        vectors.drop(removed)
        found = await passages()
      }
      const { similar, byId } = found
      return similar.flatMap(({ id, similarity }) => {
        const row = byId.get(id)
        if (row === undefined) return []
        return [
          {
            key: String(id),
            title: titleOf(String(row.source), String(row.title), row.page),
            text: String(row.body),
            ...(typeof row.line === 'number' ? { line: row.line } : {}),
            score: chunkVectorScore(similarity),
            provenance: provenanceOf(String(row.source), row.page),
            factors: [`cosine similarity ${similarity.toFixed(3)} x 2`]
          }
        ]
      })
    }
  }
}
