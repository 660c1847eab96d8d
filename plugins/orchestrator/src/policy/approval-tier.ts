import type { ApprovalTier, TrustTier } from '@svc/contracts'
import type { Settings } from '../settings.ts'

/** The setting `tier_gate`. */
export type TierGateSettings = Settings['tier_gate']

export interface ApprovalFacts {
  /** Reference of a task beyond the repository, see `externalIntent`; null for none. */
  readonly external: string | null
  /** Files that it writes. */
  readonly writes: number
  readonly tier: TrustTier
  /** [0, 1]. */
  readonly trust: number
  readonly approvals: number
  /** Bits. */
  readonly entropy: number
  /** A person allowed it: a blocked task is reviewed instead. */
  readonly approved: boolean
}

export interface ApprovalDecision {
  readonly tier: ApprovalTier
  /** The rule and its evidence. */
  readonly because: string
}

/** Required reviewer before work counts as done. The first rule that matches decides. */
export function approvalTier(settings: TierGateSettings, facts: ApprovalFacts): ApprovalDecision {
  const { external, writes, tier, trust, approvals, entropy } = facts
  if (external !== null) return blocked(facts, `it reaches beyond the repository: ${external}`)
  const most = settings.untrusted_max_writes_before_block
  if (writes > most && tier === 'Untrusted')
    return blocked(facts, `it writes ${writes} files, and an untrusted agent may write ${most}`)
  if (
    entropy < settings.entropy_auto_approve_threshold &&
    approvals >= settings.min_observations &&
    trust >= settings.auto_approve_min_trust &&
    (tier === 'Trusted' || tier === 'System')
  )
    return decision('AutoApprove', `${approvals} approvals of the agent, and its outcomes hardly vary`)
  if (writes === 0) return decision('AutoApprove', 'it writes no file')
  if (tier === 'System') return decision('AutoApprove', 'an operator has made the agent System')
  if (tier !== 'Trusted') return decision('Review', `the agent is ${tier}`)
  return writes <= settings.trusted_single_file_confirm_limit
    ? decision('Confirm', `the agent is Trusted, and it writes ${writes === 1 ? 'one file' : `${writes} files`}`)
    : decision('Review', `the agent is Trusted, but it writes ${writes} files`)
}

function blocked({ approved }: ApprovalFacts, because: string): ApprovalDecision {
  return approved ? decision('Review', `but a person allowed it ${because}`) : decision('Blocked', because)
}

function decision(tier: ApprovalTier, because: string): ApprovalDecision {
  return { tier, because }
}
