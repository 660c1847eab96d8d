import type { TaskCategory, TestDecision } from '@svc/contracts'

/** One step of a plan as it is drafted, scored and shown. */
export interface PlanTask {
  /** Position in the plan, from 1. */
  readonly id: number
  readonly description: string
  readonly category?: TaskCategory
  /** Paths relative to the project. */
  readonly files: readonly string[]
  /** 1 to 10. */
  readonly estimated_complexity: number
  /** Ids of tasks; valid ones are smaller than this task's id. */
  readonly depends_on: readonly number[]
  readonly test_decision?: TestDecision
  /** Conditions that must hold before the step starts. */
  readonly preconditions: readonly string[]
}

export type PlanDepth = 'minimal' | 'standard' | 'deep'
