import { point } from '@svc/plugin-sdk'
import type { SearchIntent, SearchMode } from './search.ts'

/** Sources of hits that plugins add to the search. Two tiers with the same name are a conflict. */
export const searchTiers = point<SearchTier>('search.tiers', { keys: tier => [tier.name] })

export const SEARCH_CORPORA = [
  'memory',
  'knowledge_graph',
  'document_chunks',
  'repo_inventory',
  'web_research',
  'symbol_proximity'
] as const
export type SearchCorpus = (typeof SEARCH_CORPORA)[number]

export interface SearchTier {
  /** Unique name, such as `wiki`. */
  readonly name: string
  readonly corpus: SearchCorpus
  /** Label in `backend_mix`, such as `chunk_fts`. Default: the name. */
  readonly backend?: string
  /** Legs of a corpus are fused with a weight. Default: `text`. */
  readonly leg?: 'text' | 'vector'
  /** Whether its hits are ranked. Default true. Without rank, evidence counts as `lexical_fallback`. */
  readonly ranked?: boolean
  /** Time limit of one query in milliseconds. Default: that of the search's settings. */
  readonly deadlineMs?: number
  /**
   * Position in `web_research`, whose tiers run one after another, after all others, until one has hits. Ascending;
   * default 10.
   */
  readonly order?: number
  /** Returns why the tier cannot be used now; null if it can. Default: it can. Called before each search. */
  unavailable?(): string | null
  /** Only in `web_research`: returns why the tier is not needed; null if it is. Default: it is. */
  unneeded?(local: LocalEvidence): string | null
  /**
   * Returns hits, best first, at most `request.limit`. Must end when `signal` is aborted. Called concurrently. If it
   * throws, the search goes on without it.
   */
  query(request: SearchTierRequest, signal: AbortSignal): Promise<readonly SearchTierHit[]>
  /**
   * Returns the scores of hits that only the other leg of the corpus found, by key, so that both legs count for them;
   * 0 if nothing matches. A key that is left out keeps the score of the other leg. Default: all are left out. If it
   * throws, it is ignored.
   */
  scores?(
    request: SearchTierRequest,
    keys: readonly string[],
    signal: AbortSignal
  ): Promise<ReadonlyMap<string, number>>
}

/** Evidence of the tiers outside of `web_research`. */
export interface LocalEvidence {
  readonly hits: number
  /** From 0 to 1. */
  readonly quality: number
  /** Whether the quality is below the threshold of the settings. */
  readonly isWeak: boolean
}

export interface SearchTierRequest {
  readonly query: string
  /** Words of the query in lower case, without stop words. */
  readonly terms: readonly string[]
  readonly intent: SearchIntent
  readonly mode: SearchMode
  readonly limit: number
  /** Trace of the search, for servers that log it. */
  readonly traceId?: string
}

export interface SearchTierHit {
  /** Identity within the corpus: hits with the same key of several tiers become one. */
  readonly key: string
  readonly title?: string
  /** Longer texts are cut to 2,000 characters. */
  readonly text: string
  /** First line in a file, from 1. */
  readonly line?: number
  /** Finite number; higher is better. */
  readonly score: number
  /** Where the hit comes from, such as a path or a URL. Default: the name of the tier. */
  readonly provenance?: string
  /** Factors of the score, such as `status legacy x0.2`. */
  readonly factors?: readonly string[]
  /** Printable line. Default: the grammar of the corpus. */
  readonly textLine?: string
}
