import type { QgateContext } from '@svc/contracts'

const SEARCHES = ['memory_hit_count', 'knowledge_hit_count', 'chunk_hit_count', 'repo_hit_count'] as const

type Payload = Readonly<Record<string, unknown>>

/**
 * Returns evidence for the quality gate from search results. Hits of all searches are added. Fused rankings repeat
 * those hits, so they count only if no other search has hits. If there are no hits, one citation is required.
 * Invalid numbers count as 0.
 */
export function qgateOf(payload: Payload): QgateContext {
  const hits = SEARCHES.reduce((sum, field) => sum + count(payload, field), 0)
  const evidence_count = hits > 0 ? hits : count(payload, 'rrf_fused_hit_count')
  const contradiction_hints = count(payload, 'contradiction_count')
  const source_diversity = count(payload, 'source_diversity')
  const tier = tierOf(payload)
  return {
    evidence_count,
    required_citations: evidence_count === 0 ? 1 : 0,
    citation_coverage: ratio(payload, 'citation_coverage'),
    contradiction_hints,
    source_diversity,
    evidence_quality: ratio(payload, 'evidence_quality'),
    verification_performed: payload.verification_performed === true,
    evidence_shape:
      evidence_count === 0
        ? 'empty'
        : contradiction_hints > 0
          ? 'contradictory'
          : source_diversity > 1
            ? 'broad'
            : 'narrow',
    ...(tier === undefined ? {} : { retrieval_tier: tier })
  }
}

function tierOf({ retrieval_tier: tier, used_vector, used_bm25, used_lexical_fallback }: Payload): string | undefined {
  if (typeof tier === 'string' && tier !== '') return tier
  if (used_lexical_fallback === true) return 'lexical_fallback'
  if (used_bm25 === true) return used_vector === true ? 'hybrid' : 'bm25'
  return used_vector === true ? 'vector' : undefined
}

function count(payload: Payload, field: string): number {
  const value = payload[field]
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0
}

function ratio(payload: Payload, field: string): number {
  const value = payload[field]
  return typeof value === 'number' && value > 0 ? Math.min(value, 1) : 0
}
