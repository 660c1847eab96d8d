import { point } from '@svc/plugin-sdk'
import type { TrustView } from './ledgers.ts'
import type { Attestation } from './task.ts'
import type { TaskView } from './task-fields.ts'

/**
 * Gates that a task must pass before it is complete. The plugin `orchestrator` contributes nine, with `order` 100 to
 * 900. If a gate throws, or its evidence cannot be gathered, the completion fails with `ORC_VALIDATION_FAILED`.
 */
export const completionGates = point<CompletionGate>('orchestrator.gates', { keys: gate => [gate.name] })

/** Counter of how often gates have requeued a task. Each counter has a limit in the settings; gates may share one. */
export type GateCounter = 'debug_iterations' | 'stubcheck_iterations' | 'qgate_iterations'

export interface CompletionGate<E = unknown> {
  readonly name: string
  /** Gates run in ascending order, then by name. */
  readonly order: number
  readonly counter: GateCounter
  /** Time limit of {@link gather} in milliseconds; default 30,000. */
  readonly gatherTimeoutMs?: number
  /** Gathers the evidence for `ask`; all I/O belongs here. Returns null if no evidence is needed. */
  gather?(task: TaskView, attestation: Attestation | null, signal: AbortSignal): Promise<E> | null
  /** Decides. Synchronous, without I/O. */
  ask(question: GateQuestion<E>): GateFinding
  /** Returns the heading above the finding in the description of a requeued task. `iteration` counts from 1. */
  heading(iteration: number): string
}

export interface GateQuestion<E = unknown> {
  readonly task: TaskView
  /** Null if the agent claimed nothing. */
  readonly attestation: Attestation | null
  readonly trust: TrustView
  /** Share of the agent's ended tasks that it completed, [0, 1]; null if none has ended. */
  readonly rollup: number | null
  /** Result of `gather`; null if there is none. */
  readonly evidence: E | null
}

/** Outcome if a task fails at a gate whose counter has reached its limit. */
export type AtLimit = 'pass' | 'ORC_VALIDATION_FAILED' | 'ORC_ATTESTATION_REQUIRED' | 'ORC_SCOPE_DENIED'

export type GateFinding =
  | {
      /** `shadow`: it would fail if the gate were enforced. `relaxed`: it failed, but the agent is trusted. */
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
