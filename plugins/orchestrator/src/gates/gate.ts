import type { Attestation, GateName, TaskView, TrustView } from '@svc/contracts'
import type { GatheredEvidence } from './evidence.ts'
import type { Grounding } from './grounding.ts'
import type { GateSettings } from './settings.ts'

/** Counts how often a gate has sent a task back; gates that share one share its limit. */
export type GateCounter = 'debug_iterations' | 'stubcheck_iterations' | 'qgate_iterations'

/** Everything that a gate may look at. */
export interface GateContext {
  readonly task: TaskView
  /** Null where nothing was claimed. */
  readonly attestation: Attestation | null
  /** Null where nothing had to be looked up. */
  readonly evidence: GatheredEvidence | null
  readonly trust: TrustView
  /** Stored trust in completing tasks, [0, 1]; null where none of the agent's tasks has ended. */
  readonly rollup: number | null
  /** What is cited, held against the envelope; null where the task has no evidence to weigh. */
  readonly grounding: Grounding | null
  readonly settings: GateSettings
}

/** What becomes of a task that fails at a gate which may not send it back again. */
export type AtLimit = 'pass' | 'ORC_VALIDATION_FAILED' | 'ORC_ATTESTATION_REQUIRED' | 'ORC_SCOPE_DENIED'

export type Finding =
  | {
      /** `shadow`: it would have failed where the gate were enforced. `relaxed`: it failed, but the agent is trusted. */
      readonly verdict: 'pass' | 'skipped' | 'shadow' | 'relaxed'
      readonly detail: string
      readonly data?: Readonly<Record<string, unknown>>
    }
  | {
      readonly verdict: 'fail'
      readonly detail: string
      readonly atLimit: AtLimit
      readonly data?: Readonly<Record<string, unknown>>
    }

export interface Gate {
  readonly name: GateName
  readonly counter: GateCounter
  /** Stands before what is appended to the description. `iteration` counts from 1. */
  heading(iteration: number): string
  ask(context: GateContext): Finding
}

export function skipped(detail: string): Finding {
  return { verdict: 'skipped', detail }
}

export function passed(detail: string): Finding {
  return { verdict: 'pass', detail }
}
