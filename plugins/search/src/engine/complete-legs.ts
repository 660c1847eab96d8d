import type { SearchTier, SearchTierRequest } from '@svc/contracts'
import { withTimeout } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import type { TierOutcome } from './run-tier.ts'

/** Scores of a tier for hits that only the other leg of its corpus found, by key. */
export type OtherScores = ReadonlyMap<SearchTier, ReadonlyMap<string, number>>

/**
 * Asks the tiers of corpora whose words and vectors both found something for the scores of the other leg's hits. A tier
 * that fails or takes longer than `timeoutMs` is left out. Rejects only with the reason of `signal`.
 */
export async function completeLegs(
  outcomes: ReadonlyMap<SearchTier, TierOutcome>,
  request: SearchTierRequest,
  timeoutMs: number,
  signal: AbortSignal
): Promise<OtherScores> {
  const completed = new Map<SearchTier, ReadonlyMap<string, number>>()
  const leg = ({ leg = 'text' }: SearchTier) => leg
  const run = async (tier: SearchTier): Promise<void> => {
    const own = new Set(outcomes.get(tier)?.hits.map(({ key }) => key))
    const others = [...outcomes].flatMap(([other, { hits }]) =>
      other.corpus === tier.corpus && leg(other) !== leg(tier) ? hits.map(({ key }) => key) : []
    )
    const keys = [...new Set(others)].filter(key => !own.has(key))
    if (own.size === 0 || keys.length === 0) return
    try {
      const scores = await withTimeout(timeoutMs, async inner => (await tier.scores?.(request, keys, inner)) ?? null, {
        signal,
        error: () => searchErrors.create('SRH_TIER_TIMEOUT', `${tier.name}: no scores within ${timeoutMs} ms`)
      })
      if (scores instanceof Map)
        completed.set(tier, new Map([...scores].filter(([, score]) => Number.isFinite(score)) as [string, number][]))
    } catch {
      signal.throwIfAborted()
    }
  }
  await Promise.all([...outcomes.keys()].filter(tier => tier.scores !== undefined).map(run))
  return completed
}
