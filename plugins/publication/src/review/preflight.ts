import type { ManifestContent, PreflightFinding, PreflightProfile, PreflightReport } from '@svc/contracts'
import { ARXIV_RULES } from './arxiv-rules.ts'
import { BASIC_RULES } from './basic-rules.ts'
import { DOUBLE_BLIND_RULES } from './double-blind-rules.ts'
import { METADATA_RULES } from './metadata-rules.ts'
import { NEWS_RULES } from './news-rules.ts'
import { type Rule, subjectOf } from './subject.ts'

const PROFILES: Readonly<Record<PreflightProfile, readonly Rule[]>> = {
  default: BASIC_RULES,
  double_blind: [...BASIC_RULES, ...DOUBLE_BLIND_RULES],
  metadata_complete: [...BASIC_RULES, ...METADATA_RULES],
  arxiv_assist: [...BASIC_RULES, ...ARXIV_RULES],
  news_inbound: [...BASIC_RULES, ...NEWS_RULES]
}

const POINTS = { error: 25, warning: 5, info: 1 } as const

/** Checks a publication against a profile. Never throws, and takes time in proportion to the content. */
export function preflight(content: ManifestContent, profile: PreflightProfile): PreflightReport {
  const subject = subjectOf(content)
  const findings = PROFILES[profile].flatMap(rule => [...rule(subject)])
  return {
    profile,
    ok: findings.every(({ severity }) => severity !== 'error'),
    readiness_score: readiness(findings),
    findings
  }
}

/** 100 without findings; an error costs 25 points, a warning 5, and an info 1. */
export function readiness(findings: readonly Pick<PreflightFinding, 'severity'>[]): number {
  return Math.max(
    0,
    findings.reduce((left, { severity }) => left - POINTS[severity], 100)
  )
}
