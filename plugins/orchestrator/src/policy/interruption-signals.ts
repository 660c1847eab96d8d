import type { InterruptionSignals, Priority } from '@svc/contracts'
import { clamp } from './numbers.ts'

const RISK_WORDS = /deploy|production|secret|delete|publish/i

const SUBMIT_GAIN: Readonly<Record<Priority, number>> = { Urgent: 0.22, Normal: 0.16, Background: 0.1 }

export interface SubmitFacts {
  readonly surface: string
  readonly description: string
  readonly files: number
  readonly priority: Priority
  readonly confidence?: number
  readonly contradiction_ratio?: number
  /** Number of pending questions of the session. */
  readonly backlog?: number
  readonly open_session?: boolean
}

/** Returns the inputs of the interruption policy for a submitted task. */
export function submitSignals(facts: SubmitFacts): InterruptionSignals {
  const { surface, description, files, priority, confidence, contradiction_ratio, backlog, open_session } = facts
  const risky = RISK_WORDS.test(description)
  return {
    channel: 'task_submit',
    surface,
    gain_bits: clamp(SUBMIT_GAIN[priority] + 0.01 * files, 0.05, 0.35),
    user_cost: 0.2 + files / 4 + (risky ? 0.2 : 0),
    high_risk: risky,
    ...(confidence === undefined ? {} : { confidence }),
    ...(contradiction_ratio === undefined ? {} : { contradiction_ratio }),
    ...(backlog === undefined ? {} : { backlog }),
    ...(open_session === undefined ? {} : { open_session })
  }
}
