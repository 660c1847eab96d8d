import type { SearchTier } from '@svc/contracts'
import type { TextEmbedder } from '../engine/query-embedder.ts'
import { scoredLine } from '../result/lines.ts'
import { chunkVectorScore } from '../score/scores.ts'
import type { Settings } from '../settings.ts'
import { numberIn, objectsIn, requestJson } from './http-json.ts'

const SNIPPET_KEYS = ['text', 'snippet', 'body', 'content', 'source_uri', 'path', 'uri']
const SNIPPET_CHARS = 160

/** Passages of a collection on a Qdrant server, by the vector of the query. */
export function qdrantTier(settings: () => Settings, embedder: TextEmbedder): SearchTier {
  return {
    name: 'qdrant',
    corpus: 'document_chunks',
    backend: 'qdrant_vector',
    leg: 'vector',
    unavailable: () => (settings().qdrant_url === undefined ? 'qdrant_url is not set' : embedder.unavailable()),
    async query({ query, limit, traceId }, signal) {
      const { qdrant_url = '', qdrant_collection, qdrant_vector_name: name, qdrant_api_key } = settings()
      const values = [...(await embedder.embed(query, signal)).vector]
      const answer = await requestJson({
        server: 'Qdrant',
        url: new URL(
          `${qdrant_url.replace(/\/+$/, '')}/collections/${encodeURIComponent(qdrant_collection)}/points/search`
        ),
        headers: {
          ...(qdrant_api_key === undefined ? {} : { 'api-key': qdrant_api_key }),
          ...(traceId === undefined ? {} : { 'x-vox-trace-id': traceId })
        },
        body: { vector: name === undefined ? values : { name, vector: values }, limit, with_payload: true },
        signal
      })
      return objectsIn(answer, 'result', 'Qdrant').flatMap(point => {
        const { id, payload } = point
        const similarity = numberIn(point, 'score')
        if ((typeof id !== 'string' && typeof id !== 'number') || similarity === null) return []
        const text = snippetOf(payload)
        const score = chunkVectorScore(similarity)
        return [
          {
            key: `qdrant:${id}`,
            title: `${qdrant_collection} ${id}`,
            text,
            score,
            provenance: `qdrant ${qdrant_collection}`,
            factors: [`cosine ${similarity.toFixed(3)} x2`],
            textLine: scoredLine('qdrant', String(id), score, text)
          }
        ]
      })
    }
  }
}

/** First text of the payload by the order of the keys, at most 160 characters. */
function snippetOf(payload: unknown): string {
  if (typeof payload !== 'object' || payload === null) return ''
  for (const key of SNIPPET_KEYS) {
    const value = (payload as Record<string, unknown>)[key]
    if (typeof value === 'string' && value.trim() !== '') return value.trim().slice(0, SNIPPET_CHARS)
  }
  return ''
}
