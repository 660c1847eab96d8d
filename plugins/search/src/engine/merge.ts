import type { SearchCorpus, SearchHit, SearchTier } from '@svc/contracts'
import { hitLine } from '../result/lines.ts'
import { fuse } from '../score/fusion.ts'
import type { TierHit } from './run-tier.ts'

interface Merged {
  hit: TierHit
  text: number | null
  vector: number | null
  readonly tiers: string[]
  readonly factors: string[]
}

export interface TierFound {
  readonly tier: SearchTier
  readonly hits: readonly TierHit[]
  /** Scores of the tier for hits of the other leg, by key. */
  readonly others?: ReadonlyMap<string, number>
}

/**
 * Merges the hits of a corpus: those with the same key become one, whose score fuses the best score of each leg.
 * Returns at most `limit` hits, best first.
 */
export function mergeHits(
  corpus: SearchCorpus,
  found: readonly TierFound[],
  terms: readonly string[],
  vectorWeight: number,
  limit: number
): readonly SearchHit[] {
  const merged = new Map<string, Merged>()
  for (const { tier, hits } of found) {
    const leg = tier.leg ?? 'text'
    for (const hit of hits) {
      const entry = merged.get(hit.key)
      if (entry === undefined) {
        merged.set(hit.key, {
          hit,
          text: leg === 'text' ? hit.score : null,
          vector: leg === 'vector' ? hit.score : null,
          tiers: [tier.name],
          factors: [...hit.factors]
        })
        continue
      }
      entry[leg] = Math.max(entry[leg] ?? hit.score, hit.score)
      if (!entry.tiers.includes(tier.name)) entry.tiers.push(tier.name)
      entry.factors.push(...hit.factors.filter(factor => !entry.factors.includes(factor)))
    }
  }
  for (const { tier, others = new Map<string, number>() } of found)
    for (const [key, score] of others) {
      const entry = merged.get(key)
      if (entry !== undefined) entry[tier.leg ?? 'text'] ??= score
    }
  return [...merged.values()]
    .map(entry => searchHit(corpus, entry, terms, vectorWeight))
    .sort((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1))
    .slice(0, limit)
}

function searchHit(
  corpus: SearchCorpus,
  { hit, text, vector, tiers, factors }: Merged,
  terms: readonly string[],
  weight: number
): SearchHit {
  const folded = `${hit.title} ${hit.text}`.toLowerCase()
  const score = fuse({ text, vector }, weight)
  const { key, title, provenance, line = null } = hit
  const shown = { key, title, text: hit.text, line, score, provenance }
  const fusion = text === null || vector === null ? [] : [`fused ${weight} x ${vector} + ${1 - weight} x ${text}`]
  return {
    corpus,
    key,
    title,
    text: hit.text,
    line,
    score,
    textScore: text,
    vectorScore: vector,
    provenance,
    matched: terms.filter(term => folded.includes(term)),
    tiers,
    factors: [...factors, ...fusion],
    textLine: hit.textLine ?? hitLine(corpus, shown)
  }
}
