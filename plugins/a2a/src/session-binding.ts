import { type AgentView, agentLabel, orchestrationErrors } from '@svc/contracts'

/** True if a caller has proved that it acts for an agent. */
export interface Binding {
  readonly sender_identity_binding: 'verified' | 'unbound'
  /** Advice; absent if it is verified. */
  readonly binding_advisory?: string
}

/**
 * Only the bound session may act for a bound agent; any caller may act for others. Throws `ORC_SESSION_MISMATCH` for
 * another session, and for a missing one if it is required.
 */
export function checkBinding(agent: AgentView, session: string | undefined, field: string): Binding {
  const { session_id: bound } = agent
  if (bound === undefined)
    return {
      sender_identity_binding: 'unbound',
      binding_advisory: `${agentLabel(agent.id)} is bound to no session: any caller can send in its name; bind it to a session`
    }
  if (session === bound) return { sender_identity_binding: 'verified' }
  const what = session === undefined ? `${field} is required` : `${field} names another one`
  throw orchestrationErrors.create(
    'ORC_SESSION_MISMATCH',
    `Session mismatch: ${agentLabel(agent.id)} is bound to a session, and ${what}`,
    { data: { agent_id: agent.id }, hint: `give the session that the agent was bound to as ${field}` }
  )
}
