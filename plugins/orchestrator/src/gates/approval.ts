import { type Finding, type Gate, passed, skipped } from './gate.ts'

/** Checks that count as a review. */
const REVIEWS: readonly string[] = ['human_review_approved', 'peer_review_approved', 'approval_reviewed']

/** Gate: the work was reviewed as the task's approval tier requires. */
export const approvalGate: Gate = {
  name: 'approval',
  counter: 'debug_iterations',
  heading: () => '[APPROVAL GATE]',
  ask({ task, attestation, settings }) {
    if (!settings.tier_enforcement) return skipped('tier_enforcement is off')
    const tier = task.approval_tier
    if (tier === undefined) return skipped('the task has no approval tier')
    if (tier === 'AutoApprove') return passed('the tier is AutoApprove')
    if (tier === 'Blocked') return missing('the tier is Blocked: a human must do this task')
    const checks = attestation?.checks_passed ?? []
    if (tier === 'Confirm')
      return checks.length > 0 || attestation?.declared_non_placeholder === true
        ? passed('the work is confirmed')
        : missing(
            'the tier is Confirm: complete the task with a check that passed in checks_passed, or with declared_non_placeholder'
          )
    const review = checks.find(check => REVIEWS.includes(check.trim().toLowerCase()))
    return review !== undefined
      ? passed(`the work was reviewed: ${review.trim()}`)
      : missing(
          `the tier is Review: have someone review the work, then complete the task with one of ${REVIEWS.join(', ')} in checks_passed`
        )
  }
}

function missing(detail: string): Finding {
  return { verdict: 'fail', detail, atLimit: 'ORC_ATTESTATION_REQUIRED' }
}
