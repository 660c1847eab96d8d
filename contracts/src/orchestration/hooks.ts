import { hook, type Principal } from '@svc/plugin-sdk'
import type { GoalOptions, SubmitRequest, Submitted } from './submit.ts'

/** Triggered by the orchestrator before a request from outside becomes a task. A tap refuses it by throwing its error. */
export const taskSubmitting = hook<[TaskSubmission]>('orchestrator.submitting', 'series')

export interface TaskSubmission {
  readonly surface: string
  readonly request: SubmitRequest
  readonly principal: Principal
}

/** Triggered for a goal that could become a plan. The first tap that returns an outcome has taken the goal. */
export const goalSubmitting = hook<[GoalRequest], GoalOutcome>('orchestrator.goal', 'bail')

export interface GoalRequest extends GoalOptions {
  readonly surface: string
  readonly request: SubmitRequest
}

export interface GoalOutcome {
  readonly submitted: Submitted
  readonly plan_session_id?: string
  readonly strategy: string
  readonly shadow_plan_adequacy?: Readonly<Record<string, unknown>>
}

/** Triggered when the end of a task is durable. */
export const taskEnded = hook<[TaskEnd]>('orchestrator.task-ended', 'series', { onError: 'skip' })

export interface TaskEnd {
  readonly task_id: number
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'expired'
  readonly reason?: string
  readonly plan?: { readonly session_id: string; readonly node_id: string; readonly version: number }
  readonly started_at_ms?: number
  readonly ended_at_ms: number
}
