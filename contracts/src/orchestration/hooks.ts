import { hook, type Principal } from '@svc/plugin-sdk'
import type { SubmitRequest, Submitted } from './submit.ts'

/**
 * Asked before a task is submitted from outside. A tap that wants to refuse throws its error. `surface` is the tool or method.
 */
export const taskSubmitting = hook<[TaskSubmission]>('orchestrator.submitting', 'series')

export interface TaskSubmission {
  readonly surface: string
  readonly request: SubmitRequest
  readonly principal: Principal
}

/**
 * Asked for a goal that could be planned in place of being one task; the first that returns an outcome has taken it, and nothing
 * is submitted by the caller then.
 */
export const goalSubmitting = hook<[GoalRequest], GoalOutcome>('orchestrator.goal', 'bail')

export interface GoalRequest {
  readonly surface: string
  readonly request: SubmitRequest
  readonly mode: 'auto' | 'direct' | 'force_plan' | 'workflow_only'
  readonly goal_type?: string
  readonly goal_scope?: string
  readonly max_plan_depth?: number
}

export interface GoalOutcome {
  readonly submitted: Submitted
  readonly plan_session_id?: string
  readonly strategy: string
  readonly shadow_plan_adequacy?: Readonly<Record<string, unknown>>
}

/** Told after a task ended and that is durable. */
export const taskEnded = hook<[TaskEnd]>('orchestrator.task-ended', 'series', { onError: 'skip' })

export interface TaskEnd {
  readonly task_id: number
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'expired'
  readonly reason?: string
  readonly plan?: { readonly session_id: string; readonly node_id: string; readonly version: number }
  readonly started_at_ms?: number
  readonly ended_at_ms: number
}
