export const PREFLIGHT_PROFILES = [
  'default',
  'double_blind',
  'metadata_complete',
  'arxiv_assist',
  'news_inbound'
] as const
export type PreflightProfile = (typeof PREFLIGHT_PROFILES)[number]

export interface PreflightFinding {
  /** Stable code, such as `title_empty`. */
  readonly code: string
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
}

export interface PreflightReport {
  readonly profile: PreflightProfile
  /** True without findings of severity `error`. */
  readonly ok: boolean
  /** 0 to 100. */
  readonly readiness_score: number
  readonly findings: readonly PreflightFinding[]
}

/** `metadata.worthiness`: what is known about the work. Numbers are from 0 to 1; absent ones count as 0. */
export interface WorthinessEvidence {
  readonly epistemic?: number
  readonly reproducibility?: number
  readonly novelty?: number
  readonly reliability?: number
  readonly metadata_policy?: number
  /** Hard minima: claim_evidence .90, replayability .85, before_after .90, metadata .90, ai_disclosure exactly 1. */
  readonly claim_evidence?: number
  readonly replayability?: number
  readonly before_after?: number
  readonly metadata?: number
  readonly ai_disclosure?: number
  readonly meaningful_advance?: boolean
  /** Red lines that the work crosses. */
  readonly red_lines?: readonly string[]
}

export type WorthinessDecision = 'Publish' | 'AskForEvidence' | 'AbstainDoNotPublish'

export interface WorthinessReport {
  /** Weighted sum, 0 to 1; null if the metadata contains no evidence. */
  readonly score: number | null
  readonly decision: WorthinessDecision
  /** Names of hard minima that are not reached. */
  readonly failed_minima: readonly string[]
  readonly red_lines: readonly string[]
  readonly reasons: readonly string[]
}
