import type { ManifestContent, WorthinessDecision, WorthinessReport } from '@svc/contracts'
import { objectOf } from './json.ts'

/** Parts of the score, which add up to 1. */
export const WEIGHTS = {
  epistemic: 0.3,
  reproducibility: 0.25,
  novelty: 0.2,
  reliability: 0.15,
  metadata_policy: 0.1
} as const

/** Work below one of these is not published, whatever its score. */
export const MINIMA = {
  claim_evidence: 0.9,
  replayability: 0.85,
  before_after: 0.9,
  metadata: 0.9,
  ai_disclosure: 1
} as const

/** Reasons that forbid publication. */
export const RED_LINES = [
  'fabricated_data',
  'plagiarism',
  'undisclosed_ai',
  'undisclosed_conflict',
  'license_violation',
  'personal_data',
  'unsafe_disclosure',
  'unreproducible_claim'
] as const

export const PUBLISH_SCORE = 0.85
export const ABSTAIN_SCORE = 0.65
/** Decimals of the score, so that .85 of each part is .85 in total. */
const DECIMALS = 1e6
/** Red lines that are read from the metadata. */
const MAX_RED_LINES = 50
const MAX_RED_LINE_CHARACTERS = 100

/**
 * Rates a publication from the evidence in `metadata.worthiness`. Without evidence, the score is null and the decision
 * is AskForEvidence. Numbers that are absent or not from 0 to 1 count as 0. Red lines of other names count, too.
 */
export function worthiness({ metadata_json }: Pick<ManifestContent, 'metadata_json'>): WorthinessReport {
  const evidence = objectOf(objectOf(metadata_json)?.worthiness)
  if (evidence === null) {
    return {
      score: null,
      decision: 'AskForEvidence',
      failed_minima: [],
      red_lines: [],
      reasons: ['metadata.worthiness is missing: add what is known about the work']
    }
  }
  const reasons: string[] = []
  const read = (name: string): number => {
    const value = evidence[name]
    if (typeof value === 'number' && value >= 0 && value <= 1) return value
    reasons.push(value === undefined ? `${name} is missing and counts as 0` : `${name} is no number from 0 to 1`)
    return 0
  }
  let sum = 0
  for (const [name, weight] of Object.entries(WEIGHTS)) sum += weight * read(name)
  const score = Math.round(sum * DECIMALS) / DECIMALS
  const failed = Object.entries(MINIMA).flatMap(([name, minimum]) => (read(name) < minimum ? [name] : []))
  const crossed = redLinesOf(evidence.red_lines)
  const isAdvance = evidence.meaningful_advance === true
  for (const name of failed) reasons.push(`${name} is below its minimum of ${MINIMA[name as keyof typeof MINIMA]}`)
  for (const line of crossed) reasons.push(`red line: ${line}`)
  if (score < ABSTAIN_SCORE) reasons.push(`the score ${score} is below ${ABSTAIN_SCORE}`)
  else if (score < PUBLISH_SCORE) reasons.push(`the score ${score} is below ${PUBLISH_SCORE}`)
  if (!isAdvance) reasons.push('meaningful_advance is not true')
  const decision = decide(score, failed, crossed, isAdvance)
  return { score, decision, failed_minima: failed, red_lines: crossed, reasons }
}

function decide(
  score: number,
  failed: readonly string[],
  crossed: readonly string[],
  isAdvance: boolean
): WorthinessDecision {
  if (score < ABSTAIN_SCORE || crossed.length > 0) return 'AbstainDoNotPublish'
  return score >= PUBLISH_SCORE && isAdvance && failed.length === 0 ? 'Publish' : 'AskForEvidence'
}

/** A value that is no list of texts counts as a crossed line, since it cannot be read. */
function redLinesOf(value: unknown): string[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) return ['unreadable']
  const names = value
    .slice(0, MAX_RED_LINES)
    .map(each => (typeof each === 'string' ? each.slice(0, MAX_RED_LINE_CHARACTERS) : 'unreadable'))
  return [...new Set(names)]
}
