import { type InterruptionDecision, type Orchestrator, orchestrationErrors } from '@svc/contracts'

/** Information in an agent's message for the interrupted person, in bits. */
const GAIN_BITS: Readonly<Record<string, number>> = {
  error_report: 0.24,
  conflict_detected: 0.22,
  help_request: 0.14
}
/** Cost of such an interruption, on the scale of questions. */
const USER_COST = 0.35

/** Why a message is not sent now. */
export interface HeldBack {
  readonly decision: 'DeferUntilCheckpoint' | 'ProceedAutonomously'
  /** Whether it should be sent again later. */
  readonly deferred: boolean
  readonly reason: string
}

export interface Weighed {
  /** Null if the message may be sent. */
  readonly held: HeldBack | null
  /** Milliseconds of attention charged when it is sent; null if it interrupts no person. */
  readonly costMs: number | null
}

/**
 * Checks a message that calls a person (help, an error, a conflict) against the policy of interruptions. Other types
 * interrupt no person and are always allowed. Throws `ORC_HUMAN_REQUIRED`.
 */
export function weighInterruption(
  { attention, trust }: Pick<Orchestrator, 'attention' | 'trust'>,
  sender: number,
  type: string,
  surface: string
): Weighed {
  const gain_bits = GAIN_BITS[type]
  if (gain_bits === undefined) return { held: null, costMs: null }
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
      hint: 'have a person decide, and send the decision with another type'
    })
  if (outcome === 'DeferUntilCheckpoint') return { held: { decision: outcome, deferred: true, reason }, costMs: null }
  if (outcome === 'ProceedAutonomously') return { held: { decision: outcome, deferred: false, reason }, costMs: null }
  // A message in an open conversation is not a new interruption, and a disabled policy charges nothing.
  const interrupts = outcome === 'InterruptNow' && attention.enabled
  return { held: null, costMs: interrupts ? decision.scaled_cost_ms : null }
}
