import { type InterruptionDecision, type Orchestrator, orchestrationErrors } from '@svc/contracts'

/** Expected information for the interrupted user in bits, by message type. */
const GAIN_BITS: Readonly<Record<string, number>> = {
  error_report: 0.24,
  conflict_detected: 0.22,
  help_request: 0.14
}
/** Cost of the interruption, on the scale of the questioning policy. */
const USER_COST = 0.35

/** Decision not to send a message now. */
export interface NotSent {
  readonly decision: 'DeferUntilCheckpoint' | 'ProceedAutonomously'
  /** Whether the caller should send the message again later. */
  readonly deferred: boolean
  readonly reason: string
}

export interface Weighed {
  /** Null if the message may be sent. */
  readonly notSent: NotSent | null
  /** Milliseconds of attention to charge when the message is sent; null if nothing is charged. */
  readonly costMs: number | null
}

/**
 * Asks the interruption policy about a message that interrupts the user: a help request, an error or a conflict. Other
 * types are always allowed. Throws `ORC_HUMAN_REQUIRED`.
 */
export function weighInterruption(
  { attention, trust }: Pick<Orchestrator, 'attention' | 'trust'>,
  sender: number,
  type: string,
  surface: string
): Weighed {
  const gain_bits = GAIN_BITS[type]
  if (gain_bits === undefined) return { notSent: null, costMs: null }
  const decision: InterruptionDecision = attention.decide({
    channel: 'a2a',
    surface,
    gain_bits,
    user_cost: USER_COST,
    trust: trust.of(sender).score
  })
  const { decision: outcome, reason } = decision
  if (outcome === 'RequireHuman')
    throw orchestrationErrors.create('ORC_HUMAN_REQUIRED', `Human approval required: ${reason}`, {
      data: { msg_type: type, decision },
      hint: 'ask the user to decide, and send the decision with another message type'
    })
  if (outcome === 'DeferUntilCheckpoint')
    return { notSent: { decision: outcome, deferred: true, reason }, costMs: null }
  if (outcome === 'ProceedAutonomously')
    return { notSent: { decision: outcome, deferred: false, reason }, costMs: null }
  // Nothing is charged for a message in an open conversation, or if the attention policy is disabled.
  const interrupts = outcome === 'InterruptNow' && attention.enabled
  return { notSent: null, costMs: interrupts ? decision.scaled_cost_ms : null }
}
