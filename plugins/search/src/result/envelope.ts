import type { SearchCorpus, SearchHit, SearchResult } from '@svc/contracts'
import {
  SEARCH_ACTIONS,
  SEARCH_CORPORA,
  SEARCH_EVIDENCE_TIERS,
  SEARCH_INTENTS,
  SEARCH_MODES,
  SEARCH_TRIGGERS
} from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'

export const planSchema = t.object({
  intent: t.enum(SEARCH_INTENTS),
  mode: t.enum(SEARCH_MODES),
  corpora: t.array(t.enum(SEARCH_CORPORA)),
  because: t.string({ description: 'Why the planner chose this plan.' })
})

const reportSchema = t.object({
  tier: t.string(),
  corpus: t.enum(SEARCH_CORPORA),
  backend: t.string(),
  state: t.enum(['done', 'skipped', 'failed', 'timed_out'], {
    description: 'failed, timed_out: the hits of this tier are missing.'
  }),
  hits: t.integer(),
  duration_ms: t.integer(),
  reason: t.nullable(t.string())
})

export const hitFields = {
  corpus: t.enum(SEARCH_CORPORA),
  key: t.string({ description: 'Path, id or URL within the corpus.' }),
  title: t.string(),
  text: t.string(),
  line: t.nullable(t.integer(), { description: 'First line in the file, from 1.' }),
  score: t.number({ description: 'Fused score; comparable within the corpus.' }),
  tiers: t.array(t.string())
}

const counts = {
  memory_hit_count: t.integer(),
  knowledge_hit_count: t.integer(),
  chunk_hit_count: t.integer(),
  repo_hit_count: t.integer(),
  web_hit_count: t.integer(),
  symbol_hit_count: t.integer(),
  rrf_fused_hit_count: t.integer()
}

const lines = (description: string) => t.array(t.string(), { description })

/** Output of a search. */
export const envelopeSchema = t.object({
  retrieval_tier: t.enum(SEARCH_EVIDENCE_TIERS, {
    description: 'hybrid: words and vectors. bm25: ranked words. lexical_fallback: words without rank.'
  }),
  trigger: t.enum(SEARCH_TRIGGERS),
  ...counts,
  used_vector: t.boolean(),
  used_bm25: t.boolean(),
  used_lexical_fallback: t.boolean(),
  contradiction_count: t.integer(),
  top_score: t.number(),
  search_intent: t.enum(SEARCH_INTENTS),
  selected_mode: t.enum(SEARCH_MODES),
  backend_mix: t.array(t.string(), { description: 'Backends with hits.' }),
  source_diversity: t.integer({ description: 'Corpora with hits.' }),
  evidence_quality: t.number({ description: '0.7 x the best score, at most 1, + 0.3 x the citation coverage.' }),
  citation_coverage: t.number({ description: 'Corpora with hits, divided by 8.' }),
  verification_performed: t.boolean(),
  verification_reason: t.nullable(t.string()),
  verification_query: t.nullable(t.string()),
  recommended_next_action: t.nullable(t.enum(SEARCH_ACTIONS)),
  search_plan: planSchema,
  search_diagnostics: t.object({
    policy_version: t.integer(),
    complete: t.boolean({ description: 'False if a tier failed or exceeded its time limit.' }),
    warnings: t.array(t.string()),
    hops: t.array(t.string(), { description: 'Queries of the corrective searches.' }),
    duration_ms: t.integer(),
    tiers: t.array(reportSchema)
  }),
  sqlite_attached: t.boolean({ description: 'Whether there is a database.' }),
  sqlite_fts5: t.boolean({ description: 'Whether the database has full-text search.' }),
  sqlite_vector: t.boolean({ description: 'Whether the database has vector functions.' }),
  memory_lines: lines('[path] snippet (score; provenance; contradiction)'),
  knowledge_lines: lines('[node:id] label — snippet'),
  chunk_lines: lines('[chunk:id title:t] text; [tantivy:path score:x] text; [qdrant:id score:x] text'),
  repo_lines: lines('[repo:path] path'),
  web_lines: lines('[web:url] text'),
  symbol_lines: lines('[symbol:path:line] text'),
  rrf_fused_lines: lines('Best lines of all corpora by reciprocal rank fusion, if prefer_rrf is set.'),
  hits: t.array(t.object(hitFields)),
  note: t.string({ description: 'One line on the evidence.' })
})

export type Envelope = Infer<typeof envelopeSchema>

/** Returns a result in the wire form. */
export function envelopeOf(result: SearchResult, policyVersion: number): Envelope {
  const { evidence, plan, hits, tiers, fused } = result
  const of = (corpus: SearchCorpus): readonly SearchHit[] => hits.filter(hit => hit.corpus === corpus)
  const linesOf = (corpus: SearchCorpus): string[] => of(corpus).map(({ textLine }) => textLine)
  const withHits = tiers.filter(each => each.hits > 0)
  const backends = [...new Set(withHits.map(({ backend }) => backend))]
  const usedVector = hits.some(({ vectorScore }) => vectorScore !== null)
  const usedFallback = backends.includes('lexical_fallback')
  return {
    retrieval_tier: evidence.tier,
    trigger: result.trigger,
    memory_hit_count: of('memory').length,
    knowledge_hit_count: of('knowledge_graph').length,
    chunk_hit_count: of('document_chunks').length,
    repo_hit_count: of('repo_inventory').length,
    web_hit_count: of('web_research').length,
    symbol_hit_count: of('symbol_proximity').length,
    rrf_fused_hit_count: fused.length,
    used_vector: usedVector,
    used_bm25: evidence.tier === 'bm25' || (usedVector && hits.some(({ textScore }) => textScore !== null)),
    used_lexical_fallback: usedFallback,
    contradiction_count: evidence.contradictionCount,
    top_score: evidence.topScore,
    search_intent: plan.intent,
    selected_mode: plan.mode,
    backend_mix: backends,
    source_diversity: evidence.sourceDiversity,
    evidence_quality: evidence.evidenceQuality,
    citation_coverage: evidence.citationCoverage,
    verification_performed: evidence.verificationPerformed,
    verification_reason: evidence.verificationReason,
    verification_query: evidence.verificationQuery,
    recommended_next_action: evidence.recommendedNextAction,
    search_plan: { ...plan, corpora: [...plan.corpora] },
    search_diagnostics: {
      policy_version: policyVersion,
      complete: result.complete,
      warnings: [...result.warnings],
      hops: [...result.hops],
      duration_ms: result.durationMs,
      tiers: tiers.map(({ durationMs, ...report }) => ({ ...report, duration_ms: durationMs }))
    },
    sqlite_attached: result.database !== null,
    sqlite_fts5: result.database?.fts ?? false,
    sqlite_vector: result.database?.vector ?? false,
    memory_lines: linesOf('memory'),
    knowledge_lines: linesOf('knowledge_graph'),
    chunk_lines: linesOf('document_chunks'),
    repo_lines: linesOf('repo_inventory'),
    web_lines: linesOf('web_research'),
    symbol_lines: linesOf('symbol_proximity'),
    rrf_fused_lines: fused.map(({ line }) => line),
    hits: hits.map(({ corpus, key, title, text, line, score, tiers: names }) => ({
      corpus,
      key,
      title,
      text,
      line,
      score,
      tiers: [...names]
    })),
    note: noteOf(result)
  }
}

function noteOf({ evidence, tiers, plan, hits }: SearchResult): string {
  const missing = tiers.filter(({ state }) => state === 'failed' || state === 'timed_out')
  const parts = [
    `${hits.length} ${hits.length === 1 ? 'hit' : 'hits'} for ${plan.intent.replaceAll('_', ' ')}`,
    `quality ${evidence.evidenceQuality.toFixed(2)}`,
    ...(missing.length === 0
      ? []
      : [
          `incomplete: ${missing.map(({ tier, state, reason }) => `${tier} ${state.replace('_', ' ')} (${reason})`).join(', ')}`
        ]),
    ...(evidence.recommendedNextAction === null ? [] : [`next: ${evidence.recommendedNextAction.replaceAll('_', ' ')}`])
  ]
  return parts.join('; ')
}
