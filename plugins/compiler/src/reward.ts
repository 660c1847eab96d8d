import type { RewardEvent } from '@svc/contracts'

/** Kind and counts of the work of a command, for the reward component. */
export interface Work {
  readonly kind: 'check' | 'build' | 'format'
  readonly files: number
  readonly errors: number
  readonly warnings: number
}

/** Returns the events for work that ended. A build without findings also counts as `build_clean`. */
export function rewardsFor({ kind, ...counts }: Work): RewardEvent[] {
  const isOk = counts.errors === 0
  if (kind === 'format') return isOk ? [{ type: 'fmt_completed', ...counts }] : []
  const event = { type: `${kind}_${isOk ? 'completed' : 'failed'}`, ...counts }
  const isClean = kind === 'build' && isOk && counts.warnings === 0
  return isClean ? [event, { type: 'build_clean', ...counts }] : [event]
}
