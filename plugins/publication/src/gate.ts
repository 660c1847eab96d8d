import type { GateCode, GateRequest, GateResult, PublicationApproval } from '@svc/contracts'
import { isDual } from './store/approvals.ts'

export interface GateState {
  /** The configuration's dry-run flag. */
  readonly dryRun: boolean
  readonly armed: boolean
  /** Approvals of the digest, if it is that of the current content; null if the database cannot be read. */
  readonly approvals: readonly PublicationApproval[] | null
}

/** Returns whether a digest may be sent. Approvals that cannot be read are reported as `missing_db` only. */
export function checkGate(request: Pick<GateRequest, 'dryRun'>, { dryRun, armed, approvals }: GateState): GateResult {
  const codes: GateCode[] = []
  if (request.dryRun || dryRun) codes.push('dry_run')
  if (approvals === null) codes.push('missing_db')
  else if (!isDual(approvals)) codes.push('missing_dual_approval')
  if (!armed) codes.push('publish_not_armed')
  const approvers = [...new Set((approvals ?? []).map(({ approver }) => approver))]
  return { open: codes.length === 0, codes, approvers }
}
