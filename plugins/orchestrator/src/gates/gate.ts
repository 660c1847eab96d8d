import type { Attestation, GateCounter, GateFinding, TaskView, TrustView } from '@svc/contracts'
import type { GatheredEvidence } from './evidence.ts'
import type { Grounding } from './grounding.ts'
import type { GateSettings } from './settings.ts'

/** Input of the built-in gates. */
export interface GateContext {
  readonly task: TaskView
  /** Null if the agent passed none. */
  readonly attestation: Attestation | null
  /** Null if nothing had to be looked up. */
  readonly evidence: GatheredEvidence | null
  readonly trust: TrustView
  /** The agent's trust in completing tasks, [0, 1]; null before its first outcome. */
  readonly rollup: number | null
  /** Citations checked against the envelope; null if the task has no evidence to check. */
  readonly grounding: Grounding | null
  readonly settings: GateSettings
}

export type Finding = GateFinding

/** A built-in gate, before it becomes a {@link CompletionGate}. */
export interface Gate {
  readonly name: string
  readonly counter: GateCounter
  heading(iteration: number): string
  ask(context: GateContext): GateFinding
}

export function skipped(detail: string): GateFinding {
  return { verdict: 'skipped', detail }
}

export function passed(detail: string): GateFinding {
  return { verdict: 'pass', detail }
}
