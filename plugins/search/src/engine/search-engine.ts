import type {
  SearchCorpus,
  SearchEvidence,
  SearchHit,
  SearchPlan,
  SearchRequest,
  SearchResult,
  SearchService,
  SearchStatus,
  SearchTier,
  SearchTierReport,
  SearchTierRequest
} from '@svc/contracts'
import { SEARCH_CORPORA } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import {
  citationCoverage,
  contradictionCount,
  evidenceQuality,
  evidenceTier,
  nextAction,
  verificationQuery,
  verificationReason
} from '../evidence/evidence.ts'
import { expandQuery } from '../evidence/expand.ts'
import { planSearch } from '../plan/planner.ts'
import { queryTerms } from '../plan/words.ts'
import { contradicts } from '../result/lines.ts'
import { reciprocalRankFusion } from '../score/fusion.ts'
import { clamp } from '../score/scores.ts'
import type { Settings } from '../settings.ts'
import { completeLegs, type OtherScores } from './complete-legs.ts'
import { mergeHits } from './merge.ts'
import { labels, type TierOutcome, TierRunner } from './run-tier.ts'

const DEFAULT_LIMIT = 8
const MAX_LIMIT = 500
const MAX_QUERY_CHARS = 4_000
const DEFAULT_ORDER = 10
/** Code of the warning by the name of a tier. */
const WARNINGS: Readonly<Record<string, string>> = { qdrant: 'qdrant_sidecar_failed' }

export interface EngineParts {
  readonly settings: () => Settings
  readonly tiers: () => readonly SearchTier[]
  /** Opens the database, so that tiers know whether they can use it. */
  readonly database: () => Promise<SearchResult['database']>
  /** Called with each result before it is returned. Must not throw. */
  readonly onResult?: (result: SearchResult) => void
}

/** Hits and reports of one pass over the corpora of a plan. */
interface Pass {
  readonly hits: readonly SearchHit[]
  readonly reports: readonly SearchTierReport[]
  readonly facts: Omit<
    SearchEvidence,
    'verificationPerformed' | 'verificationReason' | 'verificationQuery' | 'recommendedNextAction'
  >
}

/** Tiers return this multiple of the limit if some of their hits are left out. */
const EXCLUDING = 3

interface PassOptions {
  readonly limit: number
  readonly exclude: readonly string[]
  readonly traceId?: string
}

export class SearchEngine implements SearchService {
  readonly #parts: EngineParts
  readonly #runner = new TierRunner()

  constructor(parts: EngineParts) {
    this.#parts = parts
  }

  explain(query: string): SearchPlan {
    return planSearch(checkedQuery(query))
  }

  async query(request: SearchRequest, signal: AbortSignal): Promise<SearchResult> {
    const started = performance.now()
    const query = checkedQuery(request.query)
    const terms = queryTerms(query)
    const settings = this.#parts.settings()
    const threshold = clamp(settings.verification_quality_threshold, 0, 1)
    const limits = {
      limit: clamp(request.limit ?? DEFAULT_LIMIT, 1, MAX_LIMIT),
      exclude: request.exclude ?? [],
      ...defined({ traceId: request.traceId })
    }
    const database = await this.#parts.database()
    const plan = planOf(query, request)
    const first = await this.#pass(query, plan, limits, signal)
    let kept = first
    const reason = (request.verify ?? true) ? verificationReason(factsOf(first), threshold) : null
    const second = reason === null ? null : verificationQuery(query)
    if (second !== null) {
      const again = await this.#pass(second, { ...plan, intent: 'verification' }, limits, signal)
      kept = better(first, again)
    }
    const hops: string[] = []
    const maxHops = Math.min(request.hops ?? 0, settings.max_hops)
    const tried = new Set([query, ...(second === null ? [] : [second])])
    for (let hop = 0; hop < maxHops && kept.facts.evidenceQuality < threshold; hop++) {
      const queries = expandQuery(query, kept.hits, tried)
      if (queries.length === 0) break
      for (const each of queries) {
        tried.add(each)
        hops.push(each)
        kept = better(kept, await this.#pass(each, plan, limits, signal))
      }
    }
    const evidence: SearchEvidence = {
      ...kept.facts,
      verificationPerformed: second !== null,
      verificationReason: second === null ? null : reason,
      verificationQuery: second,
      recommendedNextAction: nextAction(
        {
          ...factsOf(kept),
          intent: plan.intent,
          mode: plan.mode,
          terms: terms.length,
          hasVectors: this.#hasVectors(),
          repoHits: countOf(kept.hits, ['repo_inventory', 'symbol_proximity']),
          knowledgeHits: countOf(kept.hits, ['knowledge_graph', 'memory', 'document_chunks'])
        },
        threshold
      )
    }
    const failed = kept.reports.filter(({ state }) => state === 'failed' || state === 'timed_out')
    const result: SearchResult = {
      query,
      terms,
      plan,
      trigger: request.trigger ?? 'explicit_tool_query',
      hits: kept.hits,
      fused: settings.prefer_rrf
        ? reciprocalRankFusion(
            plan.corpora.map(corpus => kept.hits.filter(hit => hit.corpus === corpus).map(({ textLine }) => textLine)),
            settings.rrf_k,
            limits.limit
          )
        : [],
      evidence,
      tiers: kept.reports,
      complete: failed.length === 0,
      warnings: [...new Set(failed.map(({ tier, state }) => WARNINGS[tier] ?? `tier_${state}: ${tier}`))],
      hops,
      database,
      durationMs: Math.round(performance.now() - started)
    }
    this.#parts.onResult?.(result)
    return result
  }

  async status(): Promise<SearchStatus> {
    await this.#parts.database()
    return {
      tiers: this.#parts.tiers().map(tier => {
        const reason = reasonOf(tier)
        const { tier: name, corpus, backend } = labels(tier)
        return { name, corpus, backend, leg: tier.leg ?? 'text', available: reason === null, reason }
      })
    }
  }

  #hasVectors(): boolean {
    return this.#parts.tiers().some(tier => tier.leg === 'vector' && reasonOf(tier) === null)
  }

  async #pass(
    query: string,
    plan: SearchPlan,
    { limit, exclude, traceId }: PassOptions,
    signal: AbortSignal
  ): Promise<Pass> {
    const settings = this.#parts.settings()
    const request = {
      query,
      terms: queryTerms(query),
      intent: plan.intent,
      mode: plan.mode,
      limit,
      ...defined({ traceId })
    }
    const wanted = this.#parts
      .tiers()
      .filter(({ corpus, leg = 'text' }) => plan.corpora.includes(corpus) && fits(plan, leg))
    const asked = exclude.length === 0 ? request : { ...request, limit: Math.min(MAX_LIMIT, EXCLUDING * limit) }
    const run = async (tier: SearchTier): Promise<TierOutcome> =>
      without(exclude, await this.#runner.run(tier, asked, settings.tier_timeout_ms, signal))
    const local = wanted.filter(({ corpus }) => corpus !== 'web_research')
    const outcomes = new Map<SearchTier, TierOutcome>()
    const results = await Promise.all(local.map(run))
    for (const [index, tier] of local.entries()) outcomes.set(tier, results[index] as TierOutcome)
    const others: OtherScores = settings.score_both_legs
      ? await completeLegs(outcomes, request, settings.tier_timeout_ms, signal)
      : new Map()
    const found = this.#merge(plan, outcomes, others, request)
    const threshold = clamp(settings.verification_quality_threshold, 0, 1)
    const quality = factsIn(found, outcomes).evidenceQuality
    const evidence = { hits: found.length, quality, isWeak: quality < threshold }
    let hasWebHits = false
    for (const tier of wanted.filter(({ corpus }) => corpus === 'web_research').toSorted(byOrder)) {
      const unneeded: string | null = hasWebHits ? 'another tier has hits' : (tier.unneeded?.(evidence) ?? null)
      const outcome: TierOutcome = unneeded === null ? await run(tier) : skipped(tier, unneeded)
      outcomes.set(tier, outcome)
      hasWebHits ||= outcome.hits.length > 0
    }
    const hits = this.#merge(plan, outcomes, others, request)
    return {
      hits: markContradiction(hits),
      reports: [...outcomes.values()].map(({ report }) => report),
      facts: factsIn(hits, outcomes)
    }
  }

  #merge(
    plan: SearchPlan,
    outcomes: ReadonlyMap<SearchTier, TierOutcome>,
    others: OtherScores,
    { terms, limit }: SearchTierRequest
  ): readonly SearchHit[] {
    const { memory_vector_weight, chunk_vector_weight } = this.#parts.settings()
    return plan.corpora.flatMap(corpus => {
      const found = [...outcomes].flatMap(([tier, { hits }]) =>
        tier.corpus === corpus ? [{ tier, hits, ...defined({ others: others.get(tier) }) }] : []
      )
      const weight = clamp(corpus === 'memory' ? memory_vector_weight : chunk_vector_weight, 0, 1)
      return mergeHits(corpus, found, terms, weight, limit)
    })
  }
}

function checkedQuery(text: string): string {
  const query = text.trim()
  if (query !== '' && query.length <= MAX_QUERY_CHARS) return query
  const problem = query === '' ? 'is empty' : `has ${query.length} characters`
  throw searchErrors.create('SRH_QUERY_INVALID', `the query ${problem}`, {
    hint: `use 1 to ${MAX_QUERY_CHARS} characters`
  })
}

function planOf(query: string, { corpora, mode }: SearchRequest): SearchPlan {
  const planned = planSearch(query)
  return {
    ...planned,
    ...(mode === undefined ? {} : { mode }),
    ...(corpora === undefined || corpora.length === 0
      ? {}
      : { corpora: SEARCH_CORPORA.filter(corpus => corpora.includes(corpus)) })
  }
}

function fits({ mode }: SearchPlan, leg: 'text' | 'vector'): boolean {
  return mode === 'hybrid' || (mode === 'vector') === (leg === 'vector')
}

function reasonOf(tier: SearchTier): string | null {
  try {
    return tier.unavailable?.() ?? null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Leaves out hits whose provenance begins with one of the texts. */
function without(exclude: readonly string[], { report, hits }: TierOutcome): TierOutcome {
  if (exclude.length === 0) return { report, hits }
  const kept = hits.filter(({ provenance }) => !exclude.some(text => provenance.startsWith(text)))
  return { report: { ...report, hits: kept.length }, hits: kept }
}

function skipped(tier: SearchTier, reason: string): TierOutcome {
  return { hits: [], report: { ...labels(tier), state: 'skipped', hits: 0, durationMs: 0, reason } }
}

function byOrder({ order: a = DEFAULT_ORDER }: SearchTier, { order: b = DEFAULT_ORDER }: SearchTier): number {
  return a - b
}

function countOf(hits: readonly SearchHit[], corpora: readonly SearchCorpus[]): number {
  return hits.filter(({ corpus }) => corpora.includes(corpus)).length
}

function factsIn(hits: readonly SearchHit[], outcomes: ReadonlyMap<SearchTier, TierOutcome>): Pass['facts'] {
  const sources = new Set(hits.map(({ corpus }) => corpus)).size
  const topScore = Math.max(0, ...hits.map(({ score }) => score))
  const coverage = citationCoverage(sources)
  const withHits = [...outcomes].filter(([, outcome]) => outcome.hits.length > 0).map(([tier]) => tier)
  return {
    tier: evidenceTier({
      vector: withHits.some(({ leg }) => leg === 'vector'),
      ranked: withHits.some(({ leg, ranked = true }) => leg !== 'vector' && ranked),
      unranked: withHits.some(({ leg, ranked = true }) => leg !== 'vector' && !ranked)
    }),
    topScore,
    citationCoverage: coverage,
    evidenceQuality: hits.length === 0 ? 0 : evidenceQuality(topScore, coverage),
    contradictionCount: contradictionCount(hits),
    sourceDiversity: sources
  }
}

function factsOf({ facts }: Pass) {
  return {
    tier: facts.tier,
    contradictions: facts.contradictionCount,
    sources: facts.sourceDiversity,
    quality: facts.evidenceQuality
  }
}

/** Returns the second pass if its quality or its diversity is higher. */
function better(first: Pass, second: Pass): Pass {
  const [one, other] = [first.facts, second.facts]
  return other.evidenceQuality > one.evidenceQuality || other.sourceDiversity > one.sourceDiversity ? second : first
}

function markContradiction(hits: readonly SearchHit[]): readonly SearchHit[] {
  if (contradictionCount(hits) === 0) return hits
  const [best, next] = hits
    .filter(({ corpus }) => corpus !== 'repo_inventory' && corpus !== 'symbol_proximity')
    .toSorted((a, b) => b.score - a.score)
  return hits.map(hit => {
    const other = hit === best ? next : hit === next ? best : undefined
    return other === undefined ? hit : { ...hit, textLine: contradicts(hit.textLine, other.key) }
  })
}
