import { type AgentView, agentLabel, orchestrationErrors } from '@svc/contracts'

/** Whether a caller has proved that it may act for an agent. */
export interface Binding {
  readonly sender_identity_binding: 'verified' | 'unbound'
  /** Advice for the caller; absent if verified. */
  readonly binding_advisory?: string
}

/**
 * Checks whether a session may act for an agent: only its own session if the agent is bound, otherwise any caller.
 * Throws `ORC_SESSION_MISMATCH` for a missing or another session.
 */
export function checkBinding(agent: AgentView, session: string | undefined, field: string): Binding {
  const { session_id: bound } = agent
  if (bound === undefined)
    return {
      sender_identity_binding: 'unbound',
      binding_advisory: `${agentLabel(agent.id)} is not bound to a session, so any caller can act for it; bind it to a session`
    }
  if (session === bound) return { sender_identity_binding: 'verified' }
  const problem = session === undefined ? `${field} is missing` : `${field} is another session`
  throw orchestrationErrors.create(
    'ORC_SESSION_MISMATCH',
    `Session mismatch: ${agentLabel(agent.id)} is bound to a session, but ${problem}`,
    { data: { agent_id: agent.id }, hint: `pass the session of the agent as ${field}` }
  )
}
