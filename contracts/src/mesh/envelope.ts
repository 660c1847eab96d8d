import { type Infer, t } from '@svc/plugin-sdk'
import { remoteAttestation } from './remote-attestation.ts'

/** Message types of remote execution. Their payload is the JSON of the schema of the same name. */
export const REMOTE_TASK_ENVELOPE = 'remote_task_envelope'
export const REMOTE_TASK_ACK = 'remote_task_ack'
export const REMOTE_TASK_CANCEL = 'remote_task_cancel'
export const REMOTE_TASK_RESULT = 'remote_task_result'

/** Repository of an envelope if neither scope nor repository is known. */
export const LOCAL_REPOSITORY = 'orchestrator-local'

const key = t.string({ minLength: 1, maxLength: 1_024, description: 'Key of the hold; each hold has a new one.' })
const taskId = t.integer({ minimum: 0, description: 'Id of the task at its owner.' })
const word = (description: string) => t.optional(t.string({ maxLength: 2_048, description }))
const json = (description: string) => t.optional(t.string({ maxLength: 4_194_304, description }))

/** Extension: the machine that delegates a task. Acknowledgements and results repeat it, since inboxes are shared. */
const submitter = {
  submitter_node_id: word('Node that delegates the task.'),
  submitter_repository_id: word('Repository of the task at that node.')
}

/** Payload of a `remote_task_envelope`: a task for another machine. */
export const remoteTaskEnvelope = t.object(
  {
    idempotency_key: key,
    task_id: taskId,
    repository_id: t.string({ minLength: 1, maxLength: 2_048, description: 'Repository of the task.' }),
    capability_requirements_json: json('Required capabilities, as JSON.'),
    payload: t.string({ description: 'JSON of a remote task payload.' }),
    privacy_class: word('Privacy class of the task.'),
    scope_id: word('Tenant of the task.'),
    submitted_unix_ms: t.integer({ minimum: 0, description: 'Time of the submission.' }),
    exec_lease_id: word('Lease of the task.'),
    campaign_id: word('Campaign of the task.'),
    artifact_refs_json: json('References to artifacts, as JSON.'),
    session_id: word('Session of the task.'),
    thread_id: word('Conversation of the task.'),
    context_envelope_json: json('Context envelope, as JSON.'),
    harness_spec_json: json('Agent harness, as JSON.'),
    parent_task_id: t.optional(taskId),
    caller_agent_id: t.optional(t.integer({ minimum: 0, description: 'Agent that submitted the task.' })),
    trace_id: word('Trace of the task.'),
    span_depth: t.optional(t.integer({ minimum: 0, description: 'Number of delegations so far.' })),
    ...submitter
  },
  { additionalProperties: true, description: 'A task for another machine.' }
)

/** Field `payload` of an envelope, as JSON. */
export const remoteTaskPayload = t.object(
  {
    task_description: t.string({ description: 'What to do.' }),
    assigned_agent_id: t.integer({ minimum: 0, description: 'Agent that holds the task at its owner.' }),
    timeout_ms: t.optional(
      t.integer({ minimum: 1, description: 'Milliseconds after its delivery at which a job is no longer wanted.' })
    ),
    session_id: word('Session of the task.'),
    thread_id: word('Conversation of the task.'),
    context_envelope_json: json('Context envelope, as JSON.'),
    harness_spec_json: json('Agent harness, as JSON.')
  },
  { additionalProperties: true, description: 'The work of a remote task.' }
)

/** Payload of a `remote_task_ack`. */
export const remoteTaskAck = t.object(
  {
    idempotency_key: key,
    accepted: t.boolean({ description: 'Whether it will be run.' }),
    detail: word('Reason.'),
    task_id: t.optional(taskId),
    claimer_node_id: word('Node that answers.'),
    ...submitter
  },
  { additionalProperties: true, description: 'Acceptance of a remote task.' }
)

/** Payload of a `remote_task_cancel`. */
export const remoteTaskCancel = t.object(
  { idempotency_key: key, task_id: taskId, reason: word('Why it was cancelled.') },
  { additionalProperties: true, description: 'Cancellation of a remote task.' }
)

/** Payload of a `remote_task_result`. */
export const remoteTaskResult = t.object(
  {
    idempotency_key: key,
    task_id: t.optional(taskId),
    success: t.boolean({ description: 'Whether the task was completed.' }),
    result: t.optional(t.string({ description: 'Result.' })),
    error: t.optional(t.string({ description: 'Error.' })),
    attestation: t.optional(remoteAttestation),
    claimer_node_id: word('Node that ran the task.'),
    ...submitter
  },
  { additionalProperties: true, description: 'Result of a remote task.' }
)

export type RemoteTaskEnvelope = Infer<typeof remoteTaskEnvelope>
export type RemoteTaskPayload = Infer<typeof remoteTaskPayload>
export type RemoteTaskAck = Infer<typeof remoteTaskAck>
export type RemoteTaskCancel = Infer<typeof remoteTaskCancel>
export type RemoteTaskResult = Infer<typeof remoteTaskResult>

/** Returns the key of a hold: `orch-remote-TASK-MILLISECONDS`. */
export function remoteTaskKey(task: number, unixMs: number): string {
  return `orch-remote-${task}-${unixMs}`
}

/** Returns the idempotency key of the message with a result. */
export function remoteResultKey(task: number, key: string): string {
  return `remote-result-${task}-${key}`
}

/**
 * Returns the scope key of a task's exec lease: `task:REPOSITORY:TASK`. Ids of tasks are unique only per repository, so
 * the repository is part of the key.
 */
export function taskScopeKey(repository: string, task: number): string {
  return `task:${repository}:${task}`
}
