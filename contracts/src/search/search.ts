import { service } from '@svc/plugin-sdk'
import type { SearchCorpus } from './tiers.ts'

/** Search over memories, knowledge, documents, the project and the web. */
export const search = service<SearchService>('search@1')

export const SEARCH_INTENTS = [
  'factual_lookup',
  'code_navigation',
  'repo_structure',
  'broad_research',
  'verification'
] as const
export type SearchIntent = (typeof SEARCH_INTENTS)[number]

export const SEARCH_MODES = ['vector', 'full_text', 'hybrid'] as const
export type SearchMode = (typeof SEARCH_MODES)[number]

export const SEARCH_TRIGGERS = ['auto_chat_preamble', 'explicit_tool_query', 'verification_pass'] as const
export type SearchTrigger = (typeof SEARCH_TRIGGERS)[number]

export const SEARCH_ACTIONS = [
  'ask_user',
  'retry_lexical',
  'retry_hybrid',
  'focus_repo',
  'focus_codex',
  'broaden_scope',
  'narrow_scope',
  'abstain'
] as const
export type SearchAction = (typeof SEARCH_ACTIONS)[number]

/** Kind of the evidence: words and vectors, ranked words, unranked words, or none. */
export const SEARCH_EVIDENCE_TIERS = ['hybrid', 'bm25', 'lexical_fallback', 'none'] as const
export type SearchEvidenceTier = (typeof SEARCH_EVIDENCE_TIERS)[number]

export interface SearchRequest {
  /** Question or words, 1 to 4,000 characters. */
  readonly query: string
  /** Maximum hits per corpus, 1 to 500. Default 8. */
  readonly limit?: number
  /** Corpora to search. Default: the planner chooses. */
  readonly corpora?: readonly SearchCorpus[]
  /** Default: the planner chooses. */
  readonly mode?: SearchMode
  /** Default: `explicit_tool_query`. */
  readonly trigger?: SearchTrigger
  /** Whether a second pass with a shorter query may follow weak results. Default true. */
  readonly verify?: boolean
  /** Corrective searches that may follow weak results, 0 to 3, at most `max_hops` of the settings. Default 0. */
  readonly hops?: number
  /** Hits whose provenance begins with one of these texts are left out, such as `sessions:`. */
  readonly exclude?: readonly string[]
  /** Trace of the caller, which tiers may pass to servers. */
  readonly traceId?: string
}

/** A hit after fusion. */
export interface SearchHit {
  readonly corpus: SearchCorpus
  /** Identity within the corpus: a path, an id or a URL. */
  readonly key: string
  readonly title: string
  /** At most 2,000 characters. */
  readonly text: string
  /** First line in a file, from 1; null for a text without lines. */
  readonly line: number | null
  /** Fused score; comparable within the corpus. */
  readonly score: number
  /** Score of each leg; null if the leg did not find the hit. */
  readonly textScore: number | null
  readonly vectorScore: number | null
  /** Where it comes from, such as a path or a URL; `repo:PATH` for an indexed file of the project. */
  readonly provenance: string
  /** Terms of the query in its title or text. */
  readonly matched: readonly string[]
  /** Names of the tiers that found it. */
  readonly tiers: readonly string[]
  /** Factors of the score, in words; see {@link SearchService.query}. */
  readonly factors: readonly string[]
  /** Printable line in the grammar of the corpus. */
  readonly textLine: string
}

/** Report of a tier on its part of a search. */
export interface SearchTierReport {
  readonly tier: string
  readonly corpus: SearchCorpus
  readonly backend: string
  /** `timed_out`: its hits are missing from the result, which is partial. `skipped`: it was not available. */
  readonly state: 'done' | 'skipped' | 'failed' | 'timed_out'
  readonly hits: number
  readonly durationMs: number
  /** Reason for `skipped`, `failed` and `timed_out`; else null. */
  readonly reason: string | null
}

export interface SearchPlan {
  readonly intent: SearchIntent
  readonly mode: SearchMode
  readonly corpora: readonly SearchCorpus[]
  /** Why the planner chose this plan. */
  readonly because: string
}

export interface SearchResult {
  readonly query: string
  /** Words of the query in lower case, without stop words. */
  readonly terms: readonly string[]
  readonly plan: SearchPlan
  readonly trigger: SearchTrigger
  /** Hits by corpus, in the order of the plan, best first. */
  readonly hits: readonly SearchHit[]
  /** Best lines of all corpora by reciprocal rank fusion; empty unless the settings ask for it. */
  readonly fused: readonly { readonly line: string; readonly score: number }[]
  readonly evidence: SearchEvidence
  readonly tiers: readonly SearchTierReport[]
  /** False if a tier failed or timed out. */
  readonly complete: boolean
  /** Codes of failures that did not end the search, such as `qdrant_sidecar_failed`. */
  readonly warnings: readonly string[]
  /** Queries of the corrective searches, in order. */
  readonly hops: readonly string[]
  /** Whether the database has full-text and vector functions; null without a database. */
  readonly database: { readonly fts: boolean; readonly vector: boolean } | null
  readonly durationMs: number
}

export interface SearchEvidence {
  readonly tier: SearchEvidenceTier
  readonly topScore: number
  /** Non-empty corpora divided by 8. */
  readonly citationCoverage: number
  /** From 0 to 1. */
  readonly evidenceQuality: number
  readonly contradictionCount: number
  /** Number of corpora with hits. */
  readonly sourceDiversity: number
  readonly verificationPerformed: boolean
  /** Why a second pass ran; null if none did. */
  readonly verificationReason: string | null
  readonly verificationQuery: string | null
  /** Null if the evidence is good enough. */
  readonly recommendedNextAction: SearchAction | null
}

export interface SearchStatus {
  readonly tiers: readonly {
    readonly name: string
    readonly corpus: SearchCorpus
    readonly backend: string
    readonly leg: 'text' | 'vector'
    readonly available: boolean
    readonly reason: string | null
  }[]
}

export interface SearchService {
  /**
   * Searches the corpora. A tier that fails or exceeds its deadline is reported and left out. Throws
   * `SRH_QUERY_INVALID` for an empty or too long query, and the reason of `signal` if it is aborted.
   */
  query(request: SearchRequest, signal: AbortSignal): Promise<SearchResult>
  /** Returns the plan of a query without a search. Throws `SRH_QUERY_INVALID`. */
  explain(query: string): SearchPlan
  status(): Promise<SearchStatus>
}
