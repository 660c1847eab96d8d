import { point } from '@svc/plugin-sdk'
import type { TrustView } from './ledgers.ts'
import type { Attestation } from './task.ts'
import type { TaskView } from './task-fields.ts'

/**
 * Gates that a task passes before it is complete. The plugin `orchestrator` contributes nine, with the orders 100 to 900. A gate that
 * throws, or whose evidence cannot be gathered, refuses the completion with `ORC_VALIDATION_FAILED`.
 */
export const completionGates = point<CompletionGate>('orchestrator.gates', { keys: gate => [gate.name] })

/** Counts how often gates have requeued a task. Each counter has a limit among the settings; gates may share one. */
export type GateCounter = 'debug_iterations' | 'stubcheck_iterations' | 'qgate_iterations'

export interface CompletionGate<E = unknown> {
  readonly name: string
  /** Gates run in ascending order, then by name. */
  readonly order: number
  readonly counter: GateCounter
  /** Milliseconds for {@link gather}; default 30,000. */
  readonly gatherTimeoutMs?: number
  /** Gathers the input of `ask`: all I/O belongs here. Null if nothing is needed. */
  gather?(task: TaskView, attestation: Attestation | null, signal: AbortSignal): Promise<E> | null
  /** Synchronous, without I/O. */
  ask(question: GateQuestion<E>): GateFinding
  /** Text before the finding in the description of a requeued task. `iteration` counts from 1. */
  heading(iteration: number): string
}

export interface GateQuestion<E = unknown> {
  readonly task: TaskView
  /** Null if the agent claimed nothing. */
  readonly attestation: Attestation | null
  readonly trust: TrustView
  /** Share of the agent's tasks that it completed, [0, 1]; null if none of them has ended. */
  readonly rollup: number | null
  /** Result of `gather`; null if there is none. */
  readonly evidence: E | null
}

/** Outcome of a task that fails at a gate whose counter is at its limit. */
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
