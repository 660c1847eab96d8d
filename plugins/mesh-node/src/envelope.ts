import {
  LOCAL_REPOSITORY,
  type Priority,
  type RemoteTaskCancel,
  type RemoteTaskEnvelope,
  type RemoteTaskPayload,
  type TaskView
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'

/** Priority of mailbox messages: 0 to 255. */
export const MESSAGE_PRIORITY: Readonly<Record<Priority, number>> = { Background: 64, Normal: 128, Urgent: 192 }
/** Cancellations are received before work. */
export const CANCEL_PRIORITY = 255

/** The machine that delegates a task, as a result must name it. */
export interface Submitter {
  readonly submitter_node_id: string
  readonly submitter_repository_id: string
}

export interface EnvelopeFacts extends Submitter {
  readonly key: string
  readonly scopeId: string | null
  readonly leaseId?: string
  /** Unix milliseconds. */
  readonly now: number
}

/** Returns the envelope of a task. */
export function envelopeOf(task: TaskView, facts: EnvelopeFacts): RemoteTaskEnvelope {
  const { session_id, thread_id, harness_spec_json, campaign_id, capabilities, trace_id } = task
  const payload: RemoteTaskPayload = {
    task_description: task.description,
    assigned_agent_id: task.agent_id,
    ...defined({ session_id, thread_id, harness_spec_json }),
    ...defined({
      priority: task.priority,
      complexity: task.complexity,
      task_category: task.category,
      execution_role: task.role,
      files: task.files.length === 0 ? undefined : task.files,
      model_preference: task.model_preference,
      model_override: task.model_override,
      active_skill: task.active_skill,
      tool_hints: task.tool_hints,
      research_hints: task.research_hints
    })
  }
  return {
    idempotency_key: facts.key,
    task_id: task.id,
    repository_id: facts.scopeId ?? LOCAL_REPOSITORY,
    ...defined({
      capability_requirements_json: capabilities === undefined ? undefined : JSON.stringify(capabilities),
      scope_id: facts.scopeId ?? undefined,
      exec_lease_id: facts.leaseId,
      campaign_id,
      session_id,
      thread_id,
      harness_spec_json,
      trace_id
    }),
    caller_agent_id: task.agent_id,
    payload: JSON.stringify(payload),
    submitted_unix_ms: facts.now,
    submitter_node_id: facts.submitter_node_id,
    submitter_repository_id: facts.submitter_repository_id
  }
}

export function cancelOf(key: string, task: number, reason: string): RemoteTaskCancel {
  return { idempotency_key: key, task_id: task, reason }
}
