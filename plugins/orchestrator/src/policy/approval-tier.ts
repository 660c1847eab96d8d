import type { ApprovalTier, TrustTier } from '@svc/contracts'
import type { Settings } from '../settings.ts'

/** The setting `tier_gate`. */
export type TierGateSettings = Settings['tier_gate']

export interface ApprovalFacts {
  /** Evidence that the task reaches beyond the repository, see `externalIntent`; null if there is none. */
  readonly external: string | null
  /** Number of files that the task writes. */
  readonly writes: number
  readonly tier: TrustTier
  /** Trust score, [0, 1]. */
  readonly trust: number
  readonly approvals: number
  /** Entropy of the agent's outcomes, in bits. */
  readonly entropy: number
  /** True if a human approved the task: Review replaces Blocked. */
  readonly approved: boolean
}

export interface ApprovalDecision {
  readonly tier: ApprovalTier
  /** Reason, as a clause. */
  readonly because: string
}

/** Returns the approval that a task needs before it counts as complete. The first matching rule decides. */
export function approvalTier(settings: TierGateSettings, facts: ApprovalFacts): ApprovalDecision {
  const { external, writes, tier, trust, approvals, entropy } = facts
  if (external !== null) return blocked(facts, `the task reaches beyond the repository: ${external}`)
  const maxWrites = settings.untrusted_max_writes_before_block
  if (writes > maxWrites && tier === 'Untrusted')
    return blocked(facts, `the task writes ${writes} files; the limit of an Untrusted agent is ${maxWrites}`)
  if (
    entropy < settings.entropy_auto_approve_threshold &&
    approvals >= settings.min_observations &&
    trust >= settings.auto_approve_min_trust &&
    (tier === 'Trusted' || tier === 'System')
  )
    return decision('AutoApprove', `the agent has ${approvals} approvals, and its outcomes hardly vary`)
  if (writes === 0) return decision('AutoApprove', 'the task writes no file')
  if (tier === 'System') return decision('AutoApprove', 'an operator has made the agent System')
  if (tier !== 'Trusted') return decision('Review', `the agent is ${tier}`)
  return writes <= settings.trusted_single_file_confirm_limit
    ? decision('Confirm', `the agent is Trusted, and the task writes ${writes === 1 ? 'one file' : `${writes} files`}`)
    : decision('Review', `the agent is Trusted, but the task writes ${writes} files`)
}

function blocked({ approved }: ApprovalFacts, because: string): ApprovalDecision {
  return approved ? decision('Review', `a human approved it, although ${because}`) : decision('Blocked', because)
}

function decision(tier: ApprovalTier, because: string): ApprovalDecision {
  return { tier, because }
}
