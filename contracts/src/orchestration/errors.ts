import { errorTable } from '@svc/plugin-sdk'

/** Errors of the orchestrator on every surface. Messages begin with the words in quotes. */
export const orchestrationErrors = errorTable({
  ORC_DISABLED: { message: '"Orchestrator is disabled": the setting `enabled` is off.', status: 503 },
  ORC_STOPPED: {
    message: '"Orchestrator is stopped": an emergency stop is in effect until the orchestrator is started again.',
    status: 503
  },
  ORC_MAX_AGENTS: { message: '"Maximum agents (N) reached".', status: 409 },
  ORC_AGENT_NOT_FOUND: { message: '"Agent A-NN not found".', status: 404 },
  ORC_PARENT_NOT_FOUND: { message: '"Delegation parent agent A-NN not found".', status: 404 },
  ORC_TASK_NOT_FOUND: { message: '"Task T-NNNN not found": no such task, or one that ended long ago.', status: 404 },
  ORC_TASK_AMBIGUOUS: {
    message: '"Task T-NNNN is ambiguous": several hosts have a task with this number.',
    status: 409
  },
  ORC_ELSEWHERE: {
    message: '"Task T-NNNN is": another process holds the task, and cannot be read or did not carry out the request.',
    status: 503
  },
  ORC_TRANSITION: { message: '"Task T-NNNN is S": this status does not allow the change.', status: 409 },
  ORC_DEPENDENCY: {
    message: '"Dependency …": a task depends on itself, or on a task that does not exist.',
    status: 422
  },
  ORC_LOCK_CONFLICT: { message: '"Lock conflict": another agent holds a file.', status: 409 },
  ORC_SCOPE_DENIED: { message: '"Scope denied": a file, a policy or evidence does not allow it.', status: 403 },
  ORC_APPROVAL_BLOCKED: {
    message: '"Approval blocked": a user must approve this before it is submitted.',
    status: 403
  },
  ORC_ATTESTATION_REQUIRED: {
    message: '"Approval attestation required": a human review is missing.',
    status: 422
  },
  ORC_VALIDATION_FAILED: { message: '"Task validation failed": a gate refused the completion.', status: 422 },
  ORC_BUDGET_EXCEEDED: { message: '"Budget exceeded".', status: 429 },
  ORC_DOOM_LOOP: { message: '"Doom loop detected": an agent spends without completing anything.', status: 429 },
  ORC_ATTENTION_EXHAUSTED: { message: '"Attention budget exhausted".', status: 429 },
  ORC_HUMAN_REQUIRED: {
    message: '"Human approval required": the policy requires a decision by the user.',
    status: 403
  },
  ORC_INJECTION: {
    message: '"Prompt injection detected": the text contains instructions that its source may not give.',
    status: 422
  },
  ORC_ENVELOPE_INVALID: {
    message: '"Context envelope": the envelope is not valid JSON, or violates an enforced rule.',
    status: 422
  },
  ORC_HARNESS_INVALID: { message: '"Harness specification": the specification is invalid.', status: 422 },
  ORC_HANDOFF_STALE: { message: '"Stale handoff": the handoff is too old.', status: 409 },
  ORC_HANDOFF_INVALID: { message: '"Handoff invariant": a handoff lacks a required part.', status: 422 },
  ORC_SESSION_MISMATCH: { message: '"Session mismatch": the agent is bound to another session.', status: 403 },
  ORC_QUEUE_FULL: {
    message: '"Queue full": too many tasks wait, or too many changes wait for the database.',
    status: 429
  },
  ORC_NOT_DURABLE: {
    message: '"Database error": a change could not be made durable in time; it is kept and retried.',
    status: 503
  },
  ORC_NO_DATABASE: { message: '"Database not attached".', status: 503 },
  ORC_CLOSED: { message: '"Orchestrator is closed".', status: 503 },
  ORC_CONFIG_INVALID: { message: 'Two settings of the orchestrator contradict each other.', status: 500 }
})

/** `T-0042`. */
export function taskLabel(task: number): string {
  return `T-${String(task).padStart(4, '0')}`
}

/** `A-03`. */
export function agentLabel(agent: number): string {
  return `A-${String(agent).padStart(2, '0')}`
}
