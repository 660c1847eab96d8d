import type { SearchTier } from '@svc/contracts'
import type { TextEmbedder } from '../engine/query-embedder.ts'
import { memoryVectorScore } from '../score/scores.ts'
import type { Library } from '../store/library.ts'
import type { StoredVectors } from '../store/vectors.ts'

export const MEMORY_SOURCE = 'memory'

/** Memories by the similarity of their vectors. */
export function memoryVectorTier(library: Library, vectors: StoredVectors, embedder: TextEmbedder): SearchTier {
  return {
    name: 'memory_vector',
    corpus: 'memory',
    leg: 'vector',
    unavailable: () => library.problem ?? embedder.unavailable(),
    async query({ query, limit }, signal) {
      const { model, vector } = await embedder.embed(query, signal)
      const similar = await vectors.similar(MEMORY_SOURCE, model, vector, limit, signal)
      if (similar.length === 0) return []
      const rows = await library.rows(
        'SELECT key, title, body, source FROM memories WHERE key IN (SELECT value FROM json_each(:keys))',
        { keys: JSON.stringify(similar.map(({ sourceId }) => sourceId)) }
      )
      const byKey = new Map(rows.map(row => [String(row.key), row]))
      return similar.flatMap(({ sourceId, similarity }) => {
        const row = byKey.get(sourceId)
        if (row === undefined) return []
        return [
          {
            key: sourceId,
            title: String(row.title) || sourceId,
            text: String(row.body),
            score: memoryVectorScore(1 - similarity),
            provenance: String(row.source) || 'memories',
            factors: [`cosine distance ${(1 - similarity).toFixed(3)}`]
          }
        ]
      })
    }
  }
}
