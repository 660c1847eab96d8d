import { point } from '@svc/plugin-sdk'
import type { FileAffinity } from './task.ts'
import type { CapabilityHints } from './task-fields.ts'

/** Terms that plugins add to the routing score. Their sum is clipped to ±1,000 points. */
export const routingTerms = point<RoutingTerm>('orchestrator.routing-terms', { keys: term => [term.name] })

export interface RoutingTerm {
  readonly name: string
  /**
   * Returns whether the term applies to the task; default: always. If any term applies, all agents are scored for the
   * task.
   */
  applies?(task: RoutingQuestion): boolean
  /** Returns points for this agent; null for none. Synchronous, without I/O. A throw or NaN counts as 0. */
  score(task: RoutingQuestion, agent: RoutedAgent): { readonly value: number; readonly because: string } | null
}

/** The fields of a task that affect routing. */
export interface RoutingQuestion {
  readonly description: string
  readonly files: readonly FileAffinity[]
  readonly capabilities: CapabilityHints | undefined
  /** Name of the requested agent. */
  readonly agent_name: string | undefined
  readonly required_labels: readonly string[] | undefined
  readonly active_skill: string | undefined
  readonly workflow: string | undefined
}

export interface RoutedAgent {
  readonly id: number
  readonly name: string
  /** Weighted load. */
  readonly load: number
  readonly labels: readonly string[]
}
