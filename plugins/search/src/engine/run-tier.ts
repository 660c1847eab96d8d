import type { SearchTier, SearchTierHit, SearchTierReport, SearchTierRequest } from '@svc/contracts'
import { defined, errorMessage, withTimeout } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'

const MAX_TEXT_CHARS = 2_000
const MAX_NAME_CHARS = 1_000
const MAX_FACTORS = 20
/** Queries of one tier that exceeded their deadline and still run. With more, the tier is skipped. */
const MAX_STUCK = 2

/** A checked hit. */
export interface TierHit extends SearchTierHit {
  readonly title: string
  readonly provenance: string
  readonly factors: readonly string[]
}

export interface TierOutcome {
  readonly report: SearchTierReport
  readonly hits: readonly TierHit[]
}

/** Runs queries of tiers with a deadline, so that one that hangs delays a search only once or twice. */
export class TierRunner {
  readonly #stuck = new Map<SearchTier, number>()

  /** Never rejects, except with the reason of `signal`. */
  async run(
    tier: SearchTier,
    request: SearchTierRequest,
    timeoutMs: number,
    signal: AbortSignal
  ): Promise<TierOutcome> {
    const started = performance.now()
    const outcome = (
      state: SearchTierReport['state'],
      reason: string | null,
      hits: readonly TierHit[] = []
    ): TierOutcome => ({
      hits,
      report: {
        ...labels(tier),
        state,
        hits: hits.length,
        durationMs: Math.round(performance.now() - started),
        reason
      }
    })
    if ((this.#stuck.get(tier) ?? 0) >= MAX_STUCK) return outcome('timed_out', 'earlier queries of the tier still run')
    let running = false
    let late = false
    try {
      const reason = tier.unavailable?.() ?? null
      if (reason !== null) return outcome('skipped', reason)
      const limited = tier.deadlineMs ?? timeoutMs
      const hits = await withTimeout(
        limited,
        async inner => {
          running = true
          try {
            return await tier.query(request, inner)
          } finally {
            running = false
            if (late) this.#count(tier, -1)
          }
        },
        { signal, error: () => searchErrors.create('SRH_TIER_TIMEOUT', `${tier.name}: no answer within ${limited} ms`) }
      )
      return outcome('done', null, checkedHits(hits, tier, request.limit))
    } catch (error) {
      signal.throwIfAborted()
      if (running) {
        late = true
        this.#count(tier, 1)
      }
      return outcome(late ? 'timed_out' : 'failed', errorMessage(error).slice(0, MAX_NAME_CHARS))
    }
  }

  #count(tier: SearchTier, by: number): void {
    const count = (this.#stuck.get(tier) ?? 0) + by
    if (count === 0) this.#stuck.delete(tier)
    else this.#stuck.set(tier, count)
  }
}

/** Returns the names of a tier in a report. */
export function labels({ name, corpus, backend = name }: SearchTier) {
  return { tier: name, corpus, backend }
}

/** A tier may be code of another plugin: hits of another shape are left out. */
function checkedHits(hits: unknown, tier: SearchTier, limit: number): readonly TierHit[] {
  if (!Array.isArray(hits)) throw searchErrors.create('SRH_TIER_INVALID', `${tier.name}: its hits are no array`)
  return hits
    .slice(0, Math.max(limit, 1) * 4)
    .filter(isHit)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(hit => ({
      ...hit,
      key: hit.key.slice(0, MAX_NAME_CHARS),
      title: (hit.title ?? hit.key).slice(0, MAX_NAME_CHARS),
      text: hit.text.slice(0, MAX_TEXT_CHARS),
      provenance: (hit.provenance ?? tier.name).slice(0, MAX_NAME_CHARS),
      factors: (hit.factors ?? []).slice(0, MAX_FACTORS).map(factor => factor.slice(0, MAX_NAME_CHARS)),
      ...defined({ textLine: hit.textLine?.slice(0, MAX_TEXT_CHARS) })
    }))
}

function isHit(hit: unknown): hit is SearchTierHit {
  if (typeof hit !== 'object' || hit === null) return false
  const { key, text, score, title, provenance, line, factors, textLine } = hit as Record<string, unknown>
  const isOptional = (value: unknown): boolean => value === undefined || typeof value === 'string'
  return (
    typeof key === 'string' &&
    key !== '' &&
    typeof text === 'string' &&
    Number.isFinite(score) &&
    [title, provenance, textLine].every(isOptional) &&
    (line === undefined || (Number.isSafeInteger(line) && (line as number) > 0)) &&
    (factors === undefined || (Array.isArray(factors) && factors.every(each => typeof each === 'string')))
  )
}
