import type { InterruptionDecision, Orchestrator } from '@svc/contracts'
import { orchestrationErrors } from '@svc/contracts'

/** Bits that a message of an agent tells the person who is interrupted by it. */
const GAIN_BITS: Readonly<Record<string, number>> = {
  error_report: 0.24,
  conflict_detected: 0.22,
  help_request: 0.14
}
/** What such an interruption costs, on the scale of questions. */
const USER_COST = 0.35

/** Why a message is not sent now. */
export interface HeldBack {
  readonly decision: 'DeferUntilCheckpoint' | 'ProceedAutonomously'
  /** Whether it should be sent again later. */
  readonly deferred: boolean
  readonly reason: string
}

/**
 * Asks the policy of interruptions about a message that calls a person: help, an error, a conflict. Null where it may go, which
 * is so for every other type. Throws `ORC_HUMAN_REQUIRED`.
 */
export function holdBack(
  { attention, trust }: Pick<Orchestrator, 'attention' | 'trust'>,
  sender: number,
  type: string,
  surface: string
): HeldBack | null {
  const gain_bits = GAIN_BITS[type]
  if (gain_bits === undefined) return null
  const decision: InterruptionDecision = attention.decide({
    channel: 'a2a',
    surface,
    gain_bits,
    user_cost: USER_COST,
    trust: trust.of(sender).score
  })
  if (decision.decision === 'RequireHuman')
    throw orchestrationErrors.create('ORC_HUMAN_REQUIRED', `Human approval required: ${decision.reason}`, {
      data: { msg_type: type, decision },
      hint: 'have a person decide, and send what was decided as another type'
    })
  if (decision.decision === 'DeferUntilCheckpoint')
    return { decision: 'DeferUntilCheckpoint', deferred: true, reason: decision.reason }
  if (decision.decision === 'ProceedAutonomously')
    return { decision: 'ProceedAutonomously', deferred: false, reason: decision.reason }
  return null
}
