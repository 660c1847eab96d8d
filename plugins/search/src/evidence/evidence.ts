import type { SearchAction, SearchEvidenceTier, SearchHit, SearchIntent, SearchMode } from '@svc/contracts'
import { isStopWord, wordsOf } from '../plan/words.ts'
import { clamp } from '../score/scores.ts'

/** Denominator of the citation coverage. */
const COVERAGE_LISTS = 8
const QUALITY_OF_TOP = 0.7
const QUALITY_OF_COVERAGE = 0.3
/** Shorter words do not count as a shared topic, and are left out of the second query. */
const MIN_TOPIC_LENGTH = 4
const MIN_VERIFIED_LENGTH = 3

/** Share of the lists that have hits. */
export function citationCoverage(nonEmptyCorpora: number): number {
  return nonEmptyCorpora / COVERAGE_LISTS
}

/** 0.7 x the best score, clamped to [0, 1], + 0.3 x the citation coverage. */
export function evidenceQuality(topScore: number, coverage: number): number {
  return QUALITY_OF_TOP * clamp(topScore, 0, 1) + QUALITY_OF_COVERAGE * coverage
}

/**
 * Returns 1 if the two best hits have different titles that share a word of at least 4 letters, else 0. Paths of the
 * inventory and symbols do not count: they state nothing.
 */
export function contradictionCount(hits: readonly Pick<SearchHit, 'corpus' | 'title' | 'score'>[]): number {
  const [best, next] = hits
    .filter(({ corpus }) => corpus !== 'repo_inventory' && corpus !== 'symbol_proximity')
    .toSorted((a, b) => b.score - a.score)
  if (best === undefined || next === undefined) return 0
  const [one, other] = [nameOf(best.title), nameOf(next.title)]
  if (one === other) return 0
  const words = new Set(wordsOf(one).filter(({ length }) => length >= MIN_TOPIC_LENGTH))
  return wordsOf(other).some(word => words.has(word)) ? 1 : 0
}

/** Files of one folder share its name, so only the last part of a path counts. */
function nameOf(title: string): string {
  return (title.split('/').at(-1) ?? title).toLowerCase()
}

/** Query of the second pass: words of at least 3 letters without stop words. Null if it does not differ. */
export function verificationQuery(query: string): string | null {
  const words = wordsOf(query).filter(word => word.length >= MIN_VERIFIED_LENGTH && !isStopWord(word))
  const shorter = words.join(' ')
  return shorter === '' || shorter === query.trim().toLowerCase() ? null : shorter
}

export type VerificationReason =
  | 'contradictions_detected'
  | 'lexical_fallback_only'
  | 'single_corpus_evidence'
  | 'weak_evidence_quality'

export interface EvidenceFacts {
  readonly tier: SearchEvidenceTier
  readonly contradictions: number
  /** Corpora with hits. */
  readonly sources: number
  readonly quality: number
}

/** Returns why a second pass should run; null if the evidence is good. */
export function verificationReason(
  { tier, contradictions, sources, quality }: EvidenceFacts,
  threshold: number
): VerificationReason | null {
  if (contradictions > 0) return 'contradictions_detected'
  if (tier === 'lexical_fallback') return 'lexical_fallback_only'
  if (sources === 1) return 'single_corpus_evidence'
  if (sources === 0 || quality < threshold) return 'weak_evidence_quality'
  return null
}

/** Returns the kind of the evidence by the legs that found something. */
export function evidenceTier(found: {
  readonly vector: boolean
  readonly ranked: boolean
  readonly unranked: boolean
}): SearchEvidenceTier {
  if (found.vector) return 'hybrid'
  if (found.ranked) return 'bm25'
  return found.unranked ? 'lexical_fallback' : 'none'
}

export interface ActionFacts extends EvidenceFacts {
  readonly intent: SearchIntent
  readonly mode: SearchMode
  /** Number of search terms of the query. */
  readonly terms: number
  readonly hasVectors: boolean
  readonly repoHits: number
  readonly knowledgeHits: number
}

/** Returns what the caller should do next; null if the evidence is good. */
export function nextAction(facts: ActionFacts, threshold: number): SearchAction | null {
  const { terms, contradictions, sources, mode, tier, hasVectors, quality, intent } = facts
  if (terms === 0) return 'ask_user'
  if (contradictions > 0) return 'narrow_scope'
  if (sources === 0) {
    if (mode === 'vector') return 'retry_lexical'
    if (mode === 'full_text') return hasVectors ? 'retry_hybrid' : 'broaden_scope'
    return 'abstain'
  }
  if (tier === 'lexical_fallback') return hasVectors ? 'retry_hybrid' : 'narrow_scope'
  if (quality >= threshold) return null
  const isOfCode = intent === 'code_navigation' || intent === 'repo_structure'
  if (isOfCode && facts.repoHits === 0) return 'focus_repo'
  if (!isOfCode && facts.knowledgeHits === 0) return 'focus_codex'
  return sources === 1 ? 'broaden_scope' : 'narrow_scope'
}
