import { hook, type Principal } from '@svc/plugin-sdk'
import type { AgentEvent } from './events.ts'
import type { GoalOptions, SubmitRequest, Submitted } from './submit.ts'

/** Triggered before an external request becomes a task. A tap rejects the request by throwing. */
export const taskSubmitting = hook<[TaskSubmission]>('orchestrator.submitting', 'series', {
  summary: 'Before an external request becomes a task. A throw rejects it.',
  payload: { surface: 'tool or method', request: 'the task as requested', principal: 'caller: id, role, scopes' }
})

export interface TaskSubmission {
  readonly surface: string
  readonly request: SubmitRequest
  readonly principal: Principal
}

/** Triggered for a goal that could become a plan. The first tap that returns an outcome handles the goal. */
export const goalSubmitting = hook<[GoalRequest], GoalOutcome>('orchestrator.goal', 'bail', {
  summary: 'For a goal that could be planned. The first tap that returns an outcome handles it.',
  payload: {
    surface: 'tool or method',
    request: 'the task as requested',
    mode: 'auto, direct, force_plan or workflow_only',
    goal_type: 'kind of goal',
    goal_scope: 'scope of the goal',
    max_plan_depth: 'levels of the plan'
  },
  // A plan may be written by a model. The deadline of the request limits the time.
  timeoutMs: 0
})

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
export const taskEnded = hook<[TaskEnd]>('orchestrator.task-ended', 'series', {
  onError: 'skip',
  summary: 'After a task ended and its end is durable.',
  payload: {
    task_id: 'id of the task',
    outcome: 'completed, failed, cancelled or expired',
    reason: 'reason, if it did not complete',
    plan: 'node of its plan',
    started_at_ms: 'Unix milliseconds',
    ended_at_ms: 'Unix milliseconds'
  }
})

export interface TaskTransition {
  readonly task_id: number
  /** `task_submitted`, `task_started`, `task_requeued`, `task_completed` and so on. */
  readonly type: string
  readonly at_ms: number
  /** The whole event. */
  readonly event: AgentEvent
}

/** Triggered after a task's status changed and the change is durable. */
export const taskChanged = hook<[TaskTransition]>('orchestrator.task-changed', 'parallel', {
  onError: 'skip',
  summary: "After a task's status changed and the change is durable.",
  payload: {
    task_id: 'id of the task',
    type: 'task_submitted, task_started, task_requeued, task_completed and so on',
    at_ms: 'Unix milliseconds',
    event: 'the whole event'
  }
})

export interface TaskEnd {
  readonly task_id: number
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'expired'
  readonly reason?: string
  readonly plan?: { readonly session_id: string; readonly node_id: string; readonly version: number }
  readonly started_at_ms?: number
  readonly ended_at_ms: number
}
