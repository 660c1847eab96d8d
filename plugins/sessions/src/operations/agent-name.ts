import { agentLabel, type Orchestrator } from '@svc/contracts'

/** Returns the field with the name of an agent, or its label if the agent is not known; no field without an agent. */
export function agentName(
  orchestrator: Pick<Orchestrator, 'agent'> | undefined,
  agent: number | null
): { readonly agent_name?: string } {
  return agent === null ? {} : { agent_name: orchestrator?.agent(agent)?.name ?? agentLabel(agent) }
}
