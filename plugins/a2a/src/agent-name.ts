import { agentLabel, type Orchestrator } from '@svc/contracts'

/** Returns the name of an agent, or its label if the agent is not of this process. */
export function agentName(orchestrator: Pick<Orchestrator, 'agent'>, agent: number): string {
  return orchestrator.agent(agent)?.name ?? agentLabel(agent)
}
