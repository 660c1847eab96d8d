import { isSvcError, type Ref } from '@svc/plugin-sdk'
import type { Orchestrator } from './orchestrator.ts'
import type { QgateContext } from './task.ts'

/** Thresholds for results, by their confidence: the settings `[orchestrator.socrates_policy]`. */
export interface QgatePolicy {
  /** Confidence in [0, 1] below which the gate abstains. */
  readonly abstain_threshold: number
  /** Confidence in [0, 1] below which the gate asks for help. */
  readonly ask_for_help_threshold: number
  /** Ratio of contradictions in [0, 1] above which the gate does not answer. */
  readonly max_contradiction_ratio_for_answer: number
  /** Confidence in [0, 1] below which retrieved evidence is not stored in a session. */
  readonly min_persist_confidence: number
  /** Confidence in [0, 1] below which a message is not written as a training pair. */
  readonly min_training_pair_confidence: number
  /** Confidence in percent, 0 to 100, below which findings of other reviewers are not reported. */
  readonly min_review_finding_confidence: number
  /** Confidence in percent, 0 to 100, that prompts require of a reported problem. */
  readonly min_prompt_report_confidence: number
}

export const defaultQgatePolicy: QgatePolicy = {
  abstain_threshold: 0.35,
  ask_for_help_threshold: 0.55,
  max_contradiction_ratio_for_answer: 0.4,
  min_persist_confidence: 0.6,
  min_training_pair_confidence: 0.75,
  min_review_finding_confidence: 80,
  min_prompt_report_confidence: 80
}

/** Returns the thresholds of the running orchestrator; the defaults without one. */
export function currentQgatePolicy(running: Ref<Orchestrator> | undefined): QgatePolicy {
  try {
    return running?.current.policy.qgate ?? defaultQgatePolicy
  } catch (error) {
    if (isSvcError(error, 'KRN_SERVICE_GONE')) return defaultQgatePolicy
    throw error
  }
}

/** Confidence of the result. */
export type RiskBand = 'High' | 'Medium' | 'Low'

export interface QgateEvaluation {
  readonly decision: 'Answer' | 'Ask' | 'Abstain'
  readonly band: RiskBand
  /** [0, 1]. */
  readonly confidence: number
  readonly contradiction_ratio: number
  /** Share of the required evidence that is present. */
  readonly coverage: number
}

/** Returns 0, 0.15 and 0.28 for zero, one and two contradictory pieces of evidence, then 0.22 for each; at most 1. */
export function contradictionRatio(hints: number): number {
  if (hints <= 0) return 0
  if (hints === 1) return 0.15
  return hints === 2 ? 0.28 : Math.min(0.22 * hints, 1)
}

/** Returns the share of the required evidence that is present; 1 if none is required. */
export function evidenceCoverage({
  required_citations: required = 0,
  evidence_count: found = 0
}: QgateContext): number {
  return required <= 0 ? 1 : clamp(found / required, 0, 1)
}

const BY_SHAPE: Readonly<Record<string, number>> = { contradictory: -0.1, empty: -0.12, narrow: -0.03 }

/**
 * Computes the confidence, and from it the risk band.
 *
 * confidence = max(coverage, citation_coverage); + 0.05 for the tiers hybrid and bm25, - 0.08 for lexical fallback;
 * times `abstain_threshold` if too few of the required facts are present; + 0.10 quality; + 0.04 for more than one
 * source; + 0.03 if it was verified and the quality is 0.6 or more; less for its shape; - 0.40 if the judge is tired;
 * clamped to [0, 1].
 *
 * Low below `abstain_threshold`. If contradictions exceed their limit: Low if the coverage is 0.30 or more (the
 * evidence contradicts itself), else Medium. Otherwise Medium below `ask_for_help_threshold`, and High from there.
 */
export function evaluateQgate(context: QgateContext, policy: QgatePolicy): QgateEvaluation {
  const coverage = evidenceCoverage(context)
  const ratio = contradictionRatio(context.contradiction_hints ?? 0)
  const { evidence_quality: quality = 0, retrieval_tier: tier, evidence_shape: shape } = context
  let confidence = Math.max(coverage, context.citation_coverage ?? 0)
  if (tier === 'hybrid' || tier === 'bm25') confidence += 0.05
  else if (tier === 'lexical_fallback' || tier === 'lexical') confidence -= 0.08
  if (context.factual_mode === true && coverage < 1) confidence *= policy.abstain_threshold
  confidence += 0.1 * quality
  if ((context.source_diversity ?? 0) > 1) confidence += 0.04
  if (context.verification_performed === true && quality >= 0.6) confidence += 0.03
  if (shape !== undefined) confidence += BY_SHAPE[shape] ?? 0
  if (context.fatigued === true) confidence -= 0.4
  confidence = clamp(confidence, 0, 1)
  const band = context.fabricated_receipts === true ? 'Low' : riskBand(confidence, ratio, coverage, policy)
  const decision = qgateDecision(band)
  return { decision, band, confidence, contradiction_ratio: ratio, coverage }
}

/** Returns the decision for a risk band. */
export function qgateDecision(band: RiskBand): QgateEvaluation['decision'] {
  return band === 'High' ? 'Answer' : band === 'Medium' ? 'Ask' : 'Abstain'
}

/** Returns the risk band of a confidence, a contradiction ratio and a coverage, all in [0, 1]. */
export function riskBand(confidence: number, ratio: number, coverage: number, policy: QgatePolicy): RiskBand {
  if (confidence < policy.abstain_threshold) return 'Low'
  if (ratio > policy.max_contradiction_ratio_for_answer) return coverage >= 0.3 ? 'Low' : 'Medium'
  return confidence < policy.ask_for_help_threshold ? 'Medium' : 'High'
}

/** Clamps a value; returns `low` for NaN. */
function clamp(value: number, low: number, high: number): number {
  return value > low ? (value < high ? value : high) : low
}
