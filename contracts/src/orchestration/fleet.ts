import { service } from '@svc/plugin-sdk'

/** Agents in this process that work on tasks. */
export const agentFleet = service<AgentFleet>('orchestrator.fleet@1')

export interface AgentFleet {
  /** Whether it accepts tasks now. */
  readonly running: boolean
  /** Number of agents that it runs. */
  readonly workers: number
  /** Names of the processors, in order of preference. */
  readonly processors: readonly string[]
  /** Starts the fleet if the settings configure one; no effect while it runs. Called by long-running surfaces. */
  start(): void
}
