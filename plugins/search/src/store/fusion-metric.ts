import { insertMetric, type SearchResult } from '@svc/contracts'
import type { Library } from './library.ts'

const SESSION = 'socrates:retrieval'
const TYPE = 'memory_hybrid_fusion'

/** Records a search in which words and vectors found notes. The row contains neither the query nor a note. */
export async function recordFusion(
  library: Library,
  { hits, evidence, trigger }: SearchResult,
  vectorWeight: number
): Promise<void> {
  const memories = hits.filter(({ corpus }) => corpus === 'memory')
  const vector = memories.filter(({ vectorScore }) => vectorScore !== null)
  const text = memories.filter(({ textScore }) => textScore !== null)
  if (vector.length === 0 || text.length === 0) return
  await library.write([
    insertMetric({
      session: SESSION,
      type: TYPE,
      value: Math.max(...memories.map(({ score }) => score)),
      metadata: {
        vector_weight: vectorWeight,
        hits: memories.length,
        vector_hits: vector.length,
        text_hits: text.length,
        fused_hits: vector.filter(({ textScore }) => textScore !== null).length,
        evidence_quality: evidence.evidenceQuality,
        trigger
      }
    })
  ])
}
