import type { SearchEvidenceTier, SearchHit, SearchService } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'

const MAX_QUERY_CHARS = 4_000
const HITS = { document_chunks: 6, knowledge_graph: 3, memory: 3 } as const
/** Chats are no material for other chats, nor for their own. */
const EXCLUDED = ['sessions:']
/** Beginning of the address of an indexed file of the project. */
const PROJECT_FILE = 'repo:'

/** A passage for the prompt. */
export interface Passage {
  readonly source: 'repository' | 'documents' | 'knowledge' | 'memory'
  /** Path in the project, URL of a document, or id of a node or note. */
  readonly ref: string
  /** First line, counted from 1; null for a text without lines. */
  readonly line: number | null
  readonly text: string
  /** Higher is better; comparable within one source. */
  readonly score: number
  /** Matched terms of the question. */
  readonly matched: readonly string[]
}

export interface Retrieved {
  readonly found: readonly Passage[]
  readonly terms: readonly string[]
  /** Share of the terms that were found, [0, 1]; 1 if there are no terms. */
  readonly termCoverage: number
  /** Terms that were not found. */
  readonly missing: readonly string[]
  readonly tier: SearchEvidenceTier
  /** Quality of the evidence, [0, 1]. */
  readonly quality: number
  /** False if a part of the search failed or took too long. */
  readonly complete: boolean
  /** Reason for a failure, or why nothing was searched; else null. */
  readonly problem: string | null
}

/** An empty result. */
export const NOTHING_SEARCHED: Retrieved = {
  found: [],
  terms: [],
  termCoverage: 1,
  missing: [],
  tier: 'none',
  quality: 0,
  complete: true,
  problem: null
}

/** Returns passages that match a question, never from the web. A failed search is reported, and returns nothing. */
export async function retrieve(
  service: SearchService | undefined,
  question: string,
  log: Logger,
  signal: AbortSignal
): Promise<Retrieved> {
  const query = question.trim().slice(0, MAX_QUERY_CHARS)
  if (query === '') return NOTHING_SEARCHED
  if (service === undefined) return { ...NOTHING_SEARCHED, problem: 'the plugin search is off' }
  try {
    const corpora = Object.keys(HITS) as (keyof typeof HITS)[]
    const request = {
      query,
      corpora,
      limit: HITS.document_chunks,
      trigger: 'auto_chat_preamble',
      exclude: EXCLUDED,
      // Without an index, a second search would read all files again before the answer begins.
      verify: false
    } as const
    const { hits, terms, evidence, complete, warnings } = await service.query(request, signal)
    const found = corpora.flatMap(corpus =>
      hits
        .filter(hit => hit.corpus === corpus)
        .slice(0, HITS[corpus])
        .map(passageOf)
    )
    const matched = new Set(found.flatMap(each => each.matched))
    const missing = terms.filter(term => !matched.has(term))
    return {
      found,
      terms,
      termCoverage: terms.length === 0 ? 1 : 1 - missing.length / terms.length,
      missing,
      tier: evidence.tier,
      quality: evidence.evidenceQuality,
      complete,
      problem: warnings.length === 0 ? null : warnings.join('; ')
    }
  } catch (error) {
    signal.throwIfAborted()
    const reason = errorMessage(error)
    log.warn('the search for a message failed', { reason })
    return { ...NOTHING_SEARCHED, complete: false, problem: reason }
  }
}

function passageOf({ corpus, key, title, text, line, score, matched, tiers, provenance }: SearchHit): Passage {
  const passage = { line, text, score, matched }
  if (corpus === 'knowledge_graph') return { ...passage, source: 'knowledge', ref: key }
  if (corpus === 'memory') return { ...passage, source: 'memory', ref: key }
  if (provenance.startsWith(PROJECT_FILE))
    return { ...passage, source: 'repository', ref: provenance.slice(PROJECT_FILE.length) }
  return tiers.includes('repo_text')
    ? { ...passage, source: 'repository', ref: title }
    : { ...passage, source: 'documents', ref: provenance }
}
